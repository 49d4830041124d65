import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

// one folder a real-time clock: Documentation/ABI/testing/sysfs-class-rtc of the Linux kernel
const FOLDER = '/sys/class/rtc'

/**
 * What the battery clocks of the machine show, to the second, in UTC; none where there is none. A clock whose battery
 * is gone shows a time near 1970.
 */
export function hardwareTimesMs(folder = FOLDER): number[] {
  return namesIn(folder).flatMap((name) => {
    const text = textOf(join(folder, name, 'since_epoch'))
    return /^\d+$/.test(text) ? [Number(text) * 1000] : []
  })
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

// a clock that does not answer is none
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return ''
  }
}
