import type { Database } from '#hub/store/database/database.ts'
import { deviceCounts } from '#hub/store/latest.ts'
import { compactSegments, isDue } from '#hub/store/telemetry/compactor.ts'
import { segmentBacklogs } from '#hub/store/telemetry/segments.ts'
import type { Log } from '#shared/log.ts'
import type { Clock } from '#shared/time.ts'
import { RepeatedTask } from './repeated-task.ts'

const CHECK_EVERY_MS = 20_000

/** Compacts the segments of a site into blocks when there are enough of them. */
export function createCompaction(database: Database, clock: Clock, log: Log): RepeatedTask {
  const devices = new KnownDevices(database)
  return new RepeatedTask({
    everyMs: CHECK_EVERY_MS,
    task: (isStopping) => compactDue(database, devices, clock, isStopping),
    failure: 'cannot compact segments into blocks; retrying later',
    log,
  })
}

async function compactDue(
  database: Database,
  devices: KnownDevices,
  clock: Clock,
  isStopping: () => boolean,
): Promise<void> {
  // whatever the number of devices, fewer rows than this make no block
  const backlogs = (await segmentBacklogs(database)).filter((site) => isDue(site, 1, clock.nowMs()))
  const counts = await devices.of(backlogs.map(({ siteId }) => siteId))
  const due = backlogs.filter((site) => isDue(site, counts.get(site.siteId) ?? 0, clock.nowMs()))
  for (const { siteId } of due) {
    // segments that arrive meanwhile wait for the next run
    let left = true
    while (left && !isStopping()) left = (await compactSegments(database, siteId, clock.nowMs())) > 1
    devices.forget(siteId)
  }
}

/**
 * Number of devices of each site, counted once per compaction of that site: their states are rewritten every few
 * seconds, so that counting them for all sites costs more than the rest of the task.
 */
class KnownDevices {
  readonly #database: Database
  #counts = new Map<string, number>()

  constructor(database: Database) {
    this.#database = database
  }

  /** Returns the counts of these sites, and drops those of others. */
  async of(siteIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const unknown = siteIds.filter((siteId) => !this.#counts.has(siteId))
    const counted = unknown.length === 0 ? undefined : await deviceCounts(this.#database, unknown)
    this.#counts = new Map(siteIds.map((siteId) => [siteId, this.#counts.get(siteId) ?? counted?.get(siteId) ?? 0]))
    return this.#counts
  }

  forget(siteId: string): void {
    this.#counts.delete(siteId)
  }
}
