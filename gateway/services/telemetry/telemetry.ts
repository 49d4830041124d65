import type { Events } from '#gateway/events.ts'
import type { SerialQueue } from '#shared/budgets/serial-queue.ts'
import type { Log } from '#shared/log.ts'
import type { Store } from '#store/store.ts'
import type { GatewayClock } from '../clock/gateway-clock.ts'
import type { TimestampTrustLimiter } from '../clock/timestamp-trust-limiter.ts'
import type { Fleet } from '../fleet.ts'
import { AlertDeletion } from '../retention/alert-deletion.ts'
import { EventDeletion } from '../retention/event-deletion.ts'
import type { BlockDamage } from './block-damage.ts'
import { TelemetryDeletion } from './deletion.ts'
import { type DiskBudget, DiskGuard } from './disk-guard.ts'
import { TelemetryImport } from './import.ts'
import { Retention } from './retention.ts'
import { Sealing } from './sealing.ts'

interface TelemetryDeps {
  store: Store
  fleet: Fleet
  damage: BlockDamage
  /** Serialises everything that changes blocks. */
  maintenance: SerialQueue
  events: Events
  clock: GatewayClock
  /** Decides the reference time of every deletion by age. */
  brake: TimestampTrustLimiter
  log: Log
  options: TelemetryOptions
}

export interface TelemetryOptions {
  /** Samples of a device in the log from which they are sealed into a block. */
  sealSamples: number
  /** Retention of telemetry in days; 0 keeps all. */
  retentionDays: number
  /** Retention of events in days; 0 keeps all. */
  eventRetentionDays: number
  dataDir: string
  diskBudget: DiskBudget
}

/** Retention of closed alerts, in days. */
const ALERT_DAYS = 400

/**
 * Builds the life cycle of telemetry and events: the log is sealed into blocks, retention and disk guard delete old or
 * excess data, users delete and import. `sync` is undefined without a hub, which must get data before deletion.
 */
export function createTelemetry(deps: TelemetryDeps, sync: { readonly mayLack: boolean } | undefined) {
  const { store, events, fleet, damage, maintenance, clock, brake, log, options } = deps
  const hasUpstream = sync !== undefined
  const mayLack = () => sync?.mayLack === true
  const sealing = new Sealing({
    store,
    fleet,
    maintenance,
    clock,
    log,
    onUnreadable: (blocks) => damage.judge(blocks),
    onQuarantined: () => damage.load(),
    minSamples: options.sealSamples,
    acknowledgedThrough: () => (hasUpstream ? store.read.syncCursors().telemetry.seq : null),
  })
  const deletion = new TelemetryDeletion({
    store,
    events,
    fleet,
    sealing,
    damage,
    maintenance,
    clock,
    brake,
    log,
    hasUpstream,
  })
  const base = { queue: store.queue, clock, brake, log, mayLack }
  const retention = new Retention({
    ...base,
    what: 'telemetry',
    days: options.retentionDays,
    deleteExpired: (cutoffMs, rest) => deletion.deleteExpired(cutoffMs, rest),
  })
  const eventDeletion = new EventDeletion({ store, hasUpstream })
  const eventRetention = new Retention({
    ...base,
    what: 'events',
    days: options.eventRetentionDays,
    deleteExpired: (cutoffMs, rest) => eventDeletion.deleteExpired(cutoffMs, rest),
  })
  const alerts = new AlertDeletion({ store, hasUpstream })
  const alertRetention = new Retention({
    ...base,
    what: 'alerts',
    days: ALERT_DAYS,
    deleteExpired: (cutoffMs, rest) => alerts.deleteExpired(cutoffMs, rest),
  })
  const diskGuard = new DiskGuard({
    store,
    maintenance,
    clock,
    log,
    hasUpstream,
    mayLack,
    dataDir: options.dataDir,
    budget: options.diskBudget,
  })
  return {
    sealing,
    telemetry: deletion,
    retention,
    eventDeletion,
    eventRetention,
    alertRetention,
    diskGuard,
    telemetryImport: new TelemetryImport({ store, events, clock, log }),
  }
}
