import { proposeDrawnZones, readDrawing, readImage } from '../course-drawing.ts'
import { checkTable, listCheckedTables, scanPages } from '../damage/check-table.ts'
import { listMessages } from '../messages/messages.ts'
import { listParties } from '../parties/parties.ts'
import { auditEntities, auditEvents, auditTelemetry } from '../replication/audit.ts'
import { countChunk, countLogged, countRows, historyChunks } from '../replication/backlog.ts'
import { blockDays, eventDays, loggedDays } from '../replication/days.ts'
import { nextHistoryPart } from '../replication/history-part.ts'
import { nextLogPart } from '../replication/log-part.ts'
import { resendEntities, resendEvents, resendTelemetry } from '../replication/resend.ts'
import { nextRows } from '../replication/rows-part.ts'
import { readPackDays } from '../reports/pack.ts'
import { readSilences } from '../reports/silences.ts'
import { readTraffic } from '../reports/traffic.ts'
import { readUtilisation } from '../reports/utilisation.ts'
import { listServiceEntries } from '../service/service.ts'
import { savedUsage } from '../service/usage.ts'
import { listAlerts } from '../tables/alerts.ts'
import { listAuditEntries } from '../tables/audit-log.ts'
import { listCommands } from '../tables/commands.ts'
import { courseImage } from '../tables/course.ts'
import { listGeofenceEvents } from '../tables/geofence-events.ts'
import { listLockEvents } from '../tables/lock-events.ts'
import { findUnreachableBlocks } from '../telemetry/detached-blocks.ts'
import { readHistoryPage, startOfNewest } from '../telemetry/history-page.ts'
import { blocksOfDay, oldestBlockDay } from '../telemetry/make-room-plan.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'
import { planSealing, type SealRequest } from '../telemetry/seal-plan.ts'
import { readCartSamples } from '../tracks/cart-samples.ts'
import { readRecentFixes, readRecentVoltages } from '../tracks/recent-records.ts'
import { findRounds, readRoundState } from '../tracks/rounds.ts'
import { readStoredMonths } from '../tracks/stored-months.ts'
import { readTrackColumns } from '../tracks/track-columns.ts'
import { findActiveTrips } from '../trips/active.ts'
import { checkTripRoom, findTripFeatures } from '../trips/features.ts'
import { readTripTrack, writeTrackTimes } from '../trips/line.ts'
import { findTrips } from '../trips/trips.ts'

/**
 * All long reads by name; each runs in a reader thread and holds no snapshot of the database for long. Buffers in a
 * result that are not parts of larger ones are transferred to the main thread without a copy.
 */
const jobs = {
  alerts: listAlerts,
  courseImage,
  readDrawing,
  readImage,
  proposeDrawnZones,
  auditEntries: listAuditEntries,
  lockEvents: listLockEvents,
  geofenceEvents: listGeofenceEvents,
  commands: listCommands,
  parties: listParties,
  serviceEntries: listServiceEntries,
  savedUsage,
  messages: listMessages,
  historyPage: readHistoryPage,
  startOfNewest,
  trackColumns: readTrackColumns,
  recentFixes: readRecentFixes,
  recentVoltages: readRecentVoltages,
  cartSamples: readCartSamples,
  rounds: findRounds,
  roundState: readRoundState,
  trips: findTrips,
  activeTrips: findActiveTrips,
  tripRoom: checkTripRoom,
  tripFeatures: findTripFeatures,
  tripTrack: readTripTrack,
  trackTimes: writeTrackTimes,
  utilisation: readUtilisation,
  packDays: readPackDays,
  traffic: readTraffic,
  silences: readSilences,
  storedMonths: readStoredMonths,
  oldestBlockDay,
  blocksOfDay,
  findUnreachableBlocks,
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
  listCheckedTables,
  checkTable,
  scanPages,
}

type Jobs = typeof jobs
export type JobName = keyof Jobs
export type JobInput<Name extends JobName> = Parameters<Jobs[Name]>[1]
export type JobResult<Name extends JobName> = ReturnType<Jobs[Name]>

/** Jobs that read only telemetry, whose blocks and log rows have checksums of their own. */
const TELEMETRY_JOBS: ReadonlySet<JobName> = new Set<JobName>([
  'historyPage',
  'startOfNewest',
  'trackColumns',
  'recentFixes',
  'recentVoltages',
  'cartSamples',
  'rounds',
  'roundState',
  'trips',
  'activeTrips',
  'tripRoom',
  'tripFeatures',
  'tripTrack',
  'trackTimes',
  'oldestBlockDay',
  'blocksOfDay',
  'planSealing',
  'nextLogPart',
  'nextHistoryPart',
  'utilisation',
  'packDays',
  'traffic',
  'silences',
  'countLogged',
  'historyChunks',
  'countChunk',
  'blockDays',
  'loggedDays',
  'auditTelemetry',
  'resendTelemetry',
  'findUnreachableBlocks',
])

export function readsTelemetryOnly(name: JobName): boolean {
  return TELEMETRY_JOBS.has(name)
}

export function performJob(tools: ReaderTools, name: JobName, input: unknown): unknown {
  // the pair comes from ReaderPool.run, which accepts only an input that fits its name
  const job = jobs[name] as (tools: ReaderTools, input: unknown) => unknown
  return job(tools, input)
}
