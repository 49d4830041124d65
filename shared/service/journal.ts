import { fstatSync } from 'node:fs'

/** The levels of syslog, as a journal reads them at the beginning of a line. Source: sd-daemon(3). */
const PRIORITIES = { debug: '<7>', info: '<6>', warn: '<4>', error: '<3>' } as const

/**
 * The function that puts its priority before a line for this file descriptor, by the variable JOURNAL_STREAM; undefined
 * if no journal of systemd reads that. JOURNAL_STREAM is inherited by programs whose output goes elsewhere: only the
 * same device and inode count.
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
