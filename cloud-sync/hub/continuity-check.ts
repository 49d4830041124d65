import type { Continuity } from '#hub/sites/continuity.ts'
import type { Log } from '#shared/log.ts'
import { RepeatedTask } from './repeated-task.ts'

const CHECK_EVERY_MS = 10_000

/** Looks again and again whether the database went back: a hub that is asked for nothing knows how far it was, too. */
export function createContinuityCheck(continuity: Continuity, log: Log): RepeatedTask {
  return new RepeatedTask({
    everyMs: CHECK_EVERY_MS,
    task: async () => {
      await continuity.trust()
    },
    failure: 'cannot check whether the database went back to an earlier state; retrying later',
    log,
  })
}
