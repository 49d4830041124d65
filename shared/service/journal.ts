import { fstatSync } from 'node:fs'

/** Syslog levels, as a journal reads them at the beginning of a line. Source: sd-daemon(3). */
const PRIORITIES = { debug: '<7>', info: '<6>', warn: '<4>', error: '<3>' } as const

/**
 * Returns a function that prefixes lines with their priority, or undefined if the systemd journal does not read this
 * descriptor. Programs with other output inherit JOURNAL_STREAM too, so only its device and inode count.
 */
export function journalPrefix(fd: number, stream: string | undefined): ((level: string) => string) | undefined {
  if (stream === undefined || stream === '') return undefined
  try {
    const { dev, ino } = fstatSync(fd, { bigint: true })
    if (stream !== `${dev}:${ino}`) return undefined
  } catch {
    return undefined
  }
  const priorities: Readonly<Record<string, string>> = PRIORITIES
  return (level) => priorities[level] ?? ''
}
