import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

// one folder for each real-time clock: Documentation/ABI/testing/sysfs-class-rtc of the Linux kernel
const FOLDER = '/sys/class/rtc'

/** Returns the times of the host's battery clocks, if any, in UTC, to the second; near 1970 with a dead battery. */
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

// a clock that cannot be read counts as absent
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return ''
  }
}
