import type { Database } from '#hub/store/database/database.ts'
import { compactSegments, isDue } from '#hub/store/telemetry/compactor.ts'
import { segmentBacklogs } from '#hub/store/telemetry/segments.ts'
import type { Log } from '#shared/log.ts'
import type { Clock } from '#shared/time.ts'
import { RepeatedTask } from './repeated-task.ts'

const CHECK_EVERY_MS = 20_000

/** Compacts the segments of a site into blocks when there are enough of them. */
export function createCompaction(database: Database, clock: Clock, log: Log): RepeatedTask {
  return new RepeatedTask({
    everyMs: CHECK_EVERY_MS,
    task: (isStopping) => compactDue(database, clock, isStopping),
    failure: 'cannot compact segments into blocks; retrying later',
    log,
  })
}

async function compactDue(database: Database, clock: Clock, isStopping: () => boolean): Promise<void> {
  const due = (await segmentBacklogs(database)).filter((site) => isDue(site, clock.nowMs()))
  for (const { siteId } of due) {
    // segments that arrive meanwhile wait for the next run
    let left = true
    while (left && !isStopping()) left = (await compactSegments(database, siteId, clock.nowMs())) > 1
  }
}
