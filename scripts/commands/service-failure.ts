import { CONFIG_EXIT_CODE } from '#shared/errors.ts'

/** Names of the systemd properties that describe how a service failed. */
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
 * Reason why a service does not run. `too_often`: it was restarted until systemd refused. `setting`: its program
 * reported a fault that only an admin can fix. `stopped`: it was stopped manually, and did not end as it should.
 */
export type ServiceFailure = 'too_often' | 'setting' | 'stopped'

/** Reasons for the end of a program, by systemd's result. */
const ENDED: Partial<Record<string, string>> = {
  timeout: 'it was not there in time',
  watchdog: 'it stood still',
}
/** Value of `ExecMainCode` for a program that exited without a signal. Source: waitid(2). */
const EXITED = 1
const NEVER_RAN = 0
/** Source: systemd.exec(5). */
const CANNOT_EXECUTE = 203
const LONGEST_REASON = 300

/** Reads the output of `systemctl show` for `FAILURE_PROPERTIES`; null for a service that has not failed. */
export function readFailure(properties: ReadonlyMap<string, string>): ServiceFailure | null {
  const number = (name: string) => Number(properties.get(name) ?? 0)
  const state = properties.get('ActiveState')
  const [code, status] = [number('ExecMainCode'), number('ExecMainStatus')]
  if (state !== 'failed' && state !== 'inactive') return null
  if (code === EXITED && status === CONFIG_EXIT_CODE) return 'setting'
  // its failure was reset by an earlier call of this command that was killed before it could start the service
  if (state === 'inactive') return code === NEVER_RAN || (code === EXITED && status === 0) ? null : 'too_often'
  // it left "inactive" for a restart, and no process has started since
  const wasWaiting = number('InactiveExitTimestampMonotonic') > number('ExecMainExitTimestampMonotonic')
  // it has failed after being inactive: by a start that was refused
  const wasRefused = number('StateChangeTimestampMonotonic') > number('InactiveEnterTimestampMonotonic')
  return wasWaiting || wasRefused ? 'too_often' : 'stopped'
}

/** Describes the end of the program, followed by its last message. `lines` are those of its log. */
export function reasonOf(properties: ReadonlyMap<string, string>, lines: readonly string[]): string {
  const status = Number(properties.get('ExecMainStatus') ?? 0)
  const isExit = Number(properties.get('ExecMainCode') ?? 0) === EXITED
  const ended = isExit ? `it ended with code ${status}` : `signal ${status} ended it`
  const how = ENDED[properties.get('Result') ?? ''] ?? ended
  if (isExit && status === CANNOT_EXECUTE) return 'it cannot be executed'
  const reason = lines.map(wordsIn).findLast((words) => words !== null)
  return (reason == null ? how : `${how}: ${reason}`).slice(0, LONGEST_REASON)
}

/** Returns the reason in a line of our log; for output of Node or the system, the line if it contains an error. */
function wordsIn(line: string): string | null {
  try {
    const entry: unknown = JSON.parse(line)
    if (typeof entry === 'object' && entry !== null && 'reason' in entry) return String(entry.reason)
    return null
  } catch {
    return /error|fatal|cannot/i.test(line) ? line.trim() : null
  }
}
