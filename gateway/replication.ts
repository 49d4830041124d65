import { SyncAgent } from '#agent/agent.ts'
import { toDeviceStateJson } from '#api/json/device-json.ts'
import type { AuditContext } from '#services/audit-context.ts'
import type { GatewayClock } from '#services/clock/gateway-clock.ts'
import type { Fleet } from '#services/fleet.ts'
import type { IntentEffectsDeps } from '#services/replication/intent-effects.ts'
import { IntentInbox } from '#services/replication/intent-inbox.ts'
import { LatestStates } from '#services/replication/latest-states.ts'
import { SyncSource } from '#services/replication/source.ts'
import type { BlockDamage } from '#services/telemetry/block-damage.ts'
import type { SerialQueue } from '#shared/budgets/serial-queue.ts'
import type { Log } from '#shared/log.ts'
import { readVersion } from '#shared/version.ts'
import type { Store } from '#store/store.ts'
import type { Config } from './config.ts'
import type { Events } from './events.ts'

/** Number of rows waiting for the disk from which a backlog for the hub also waits. */
const BUSY_ROWS = 200

interface ReplicationDeps extends Omit<IntentEffectsDeps, 'onResend'> {
  config: Pick<Config, 'upstream' | 'upstreamIntents' | 'dataDir'>
  fleet: Fleet
  store: Store
  events: Events
  damage: BlockDamage
  origins: AuditContext
  cartReportOf: (hardwareId: string) => object | undefined
  maintenance: SerialQueue
  machine: { readonly detail: string | null }
  clock: GatewayClock
  log: Log
}

/** Builds the inbox for intents of the hub and, if one is configured, the agent `sync` that replicates to it. */
export function createReplication(deps: ReplicationDeps) {
  const { config, store, events, fleet, clock, log, cartReportOf, machine } = deps
  const intents = new IntentInbox({
    ...deps,
    allowed: config.upstreamIntents,
    onResend: (wanted) => events.emit('resendRequested', wanted),
  })
  const { upstream, dataDir } = config
  if (upstream === undefined) return { intents, sync: undefined }
  const sync = new SyncAgent({
    source: new SyncSource({ ...deps, monotonic: clock }),
    inbox: intents,
    latest: new LatestStates({ fleet, events, toDeviceJson: toDeviceStateJson, cartReportOf: cartReportOf }),
    upstream,
    site: upstream.siteId,
    holdMs: upstream.holdMs,
    longestBackoffMs: upstream.longestBackoffMs,
    dataDir,
    program: readVersion(),
    clock,
    log,
    heldBy: () => machine.detail,
    isBusy: () => store.queue.waitingRows > BUSY_ROWS,
  })
  events.on('resendRequested', (wanted) => void sync.audit(wanted))
  events.on('machineConfirmed', () => sync.letGo())
  events.on('lockChanged', () => sync.wake())
  events.on('zoneCrossed', () => sync.wake())
  events.on('alertChanged', () => sync.wake())
  return { intents, sync }
}
