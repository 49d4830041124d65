import { findActiveTrips } from './active-trips.ts'
import { readHistoryPage, startOfNewest } from './history-page.ts'
import type { ReaderTools } from './reader-tools.ts'
import { blocksOfDay, oldestBlockDay } from './relief-plan.ts'
import { planSealing, type SealRequest } from './seal-plan.ts'
import { auditEntities, auditEvents, auditTelemetry } from './sync-audit.ts'
import { countChunk, countLogged, countRows, historyChunks } from './sync-backlog.ts'
import { blockDays, eventDays, loggedDays } from './sync-days.ts'
import { nextHistoryPart } from './sync-history.ts'
import { nextLogPart } from './sync-log.ts'
import { resendEntities, resendEvents, resendTelemetry } from './sync-resend.ts'
import { nextRows } from './sync-rows.ts'
import { checkTripRoom, findTripFeatures } from './trip-features.ts'
import { readTripTrack, writeTrackTimes } from './trip-track.ts'
import { findTrips } from './trips.ts'

/**
 * Every long read by name: it runs in a reader thread and holds no snapshot of the database for long. Buffers in a
 * result that are not parts of larger ones move to the main thread without being copied.
 */
const jobs = {
  historyPage: readHistoryPage,
  startOfNewest,
  trips: findTrips,
  activeTrips: findActiveTrips,
  tripRoom: checkTripRoom,
  tripFeatures: findTripFeatures,
  tripTrack: readTripTrack,
  trackTimes: writeTrackTimes,
  oldestBlockDay,
  blocksOfDay,
  planSealing: ({ connection }: ReaderTools, request: SealRequest) => planSealing(connection, request),
  nextRows,
  nextLogPart,
  nextHistoryPart,
  countRows,
  countLogged,
  historyChunks,
  countChunk,
  blockDays,
  loggedDays,
  eventDays,
  auditTelemetry,
  auditEvents,
  auditEntities,
  resendTelemetry,
  resendEvents,
  resendEntities,
}

type Jobs = typeof jobs
export type JobName = keyof Jobs
export type JobInput<Name extends JobName> = Parameters<Jobs[Name]>[1]
export type JobResult<Name extends JobName> = ReturnType<Jobs[Name]>

export function performJob(tools: ReaderTools, name: JobName, input: unknown): unknown {
  // the pair came from ReaderPool.run, which only takes an input that fits its name
  const job = jobs[name] as (tools: ReaderTools, input: unknown) => unknown
  return job(tools, input)
}
