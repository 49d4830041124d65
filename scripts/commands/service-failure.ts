import { CONFIG_EXIT_CODE } from '#shared/errors.ts'

/** What of a service of systemd says how it failed: names of its properties. */
export const FAILURE_PROPERTIES = [
  'ActiveState',
  'Result',
  'ExecMainCode',
  'ExecMainStatus',
  'ExecMainExitTimestampMonotonic',
  'InactiveExitTimestampMonotonic',
  'InactiveEnterTimestampMonotonic',
  'StateChangeTimestampMonotonic',
]

/**
 * Why a service does not run. `too_often`: it was started again until systemd refused. `setting`: its program says that
 * only a person can help. `stopped`: somebody stopped it, and it did not end as it should.
 */
export type ServiceFailure = 'too_often' | 'setting' | 'stopped'

/** What the program was ended by, of the words systemd has. */
const ENDED: Partial<Record<string, string>> = {
  timeout: 'it was not there in time',
  watchdog: 'it stood still',
}
/** Of `ExecMainCode`: it ended by itself. Source: waitid(2). */
const EXITED = 1
const NEVER_RAN = 0
/** Source: systemd.exec(5). */
const CANNOT_EXECUTE = 203
const LONGEST_REASON = 300

/** Reads what `systemctl show` prints of `FAILURE_PROPERTIES`; null for a service that has not failed. */
export function readFailure(properties: ReadonlyMap<string, string>): ServiceFailure | null {
  const number = (name: string) => Number(properties.get(name) ?? 0)
  const state = properties.get('ActiveState')
  const [code, status] = [number('ExecMainCode'), number('ExecMainStatus')]
  if (state !== 'failed' && state !== 'inactive') return null
  if (code === EXITED && status === CONFIG_EXIT_CODE) return 'setting'
  // its failure was forgotten, by a call of this command that was killed before it had it started
  if (state === 'inactive') return code === NEVER_RAN || (code === EXITED && status === 0) ? null : 'too_often'
  // it left "inactive" to be started again, and no process has begun since
  const wasWaiting = number('InactiveExitTimestampMonotonic') > number('ExecMainExitTimestampMonotonic')
  // it has failed since it was inactive: by a start that was refused
  const wasRefused = number('StateChangeTimestampMonotonic') > number('InactiveEnterTimestampMonotonic')
  return wasWaiting || wasRefused ? 'too_often' : 'stopped'
}

/** What became of the program, in words: how it ended, and what it said of it last. `lines` are those of its log. */
export function reasonOf(properties: ReadonlyMap<string, string>, lines: readonly string[]): string {
  const status = Number(properties.get('ExecMainStatus') ?? 0)
  const isExit = Number(properties.get('ExecMainCode') ?? 0) === EXITED
  const ended = isExit ? `it ended with code ${status}` : `signal ${status} ended it`
  const how = ENDED[properties.get('Result') ?? ''] ?? ended
  if (isExit && status === CANNOT_EXECUTE) return 'it cannot be executed'
  const said = lines.map(wordsIn).findLast((words) => words !== null)
  return (said == null ? how : `${how}: ${said}`).slice(0, LONGEST_REASON)
}

/** Of a line of our log the reason; of what Node or the system writes the line that has an error in it. */
function wordsIn(line: string): string | null {
  try {
    const entry: unknown = JSON.parse(line)
    if (typeof entry === 'object' && entry !== null && 'reason' in entry) return String(entry.reason)
    return null
  } catch {
    return /error|fatal|cannot/i.test(line) ? line.trim() : null
  }
}
