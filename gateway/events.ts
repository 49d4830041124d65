import type { Alert } from '#domain/alert.ts'
import type { TimeSource } from '#domain/clock-state.ts'
import type { ShownMessage } from '#domain/message.ts'
import type { Scalar } from '#domain/telemetry.ts'
import type { Cart } from '#services/cart.ts'
import type { Device } from '#services/fleet.ts'
import { describeError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import type { SiteSettings } from '#shared/site/settings.ts'
import type { AlertEvent } from '#shared/wire/alerts.ts'
import type { GeofenceEventKind } from '#shared/wire/geofence-events.ts'
import type { LockKind, LockSource } from '#shared/wire/lock-events.ts'
import type { Party } from '#shared/wire/parties/parties.ts'
import type { AuditKind } from '#shared/wire/replication/sync.ts'
import type { ZoneType } from '#shared/zones/zone.ts'
import type { CommandRow } from '#store/tables/commands.ts'
import type { RecallRow } from '#store/tables/recall.ts'

/** Changes that a reading made in the state of its device: the new values, and the time of the reading. */
export interface Move {
  atMs: number
  values: Record<string, Scalar>
}

/** Readings of a device that changed its state, in order; at least one. */
export interface ReportedRun {
  readonly hardwareId: string
  readonly moves: readonly Move[]
  readonly updatedAtMs: number
  readonly lastRespondedAtMs: number
}

/** Events, emitted once they are on the disk. Times are milliseconds since 1970. */
export interface GatewayEvents {
  /** A message of a device was accepted, even one that changed nothing but when the device was last seen. */
  messageAccepted: { hardwareId: string }
  /** Readings that arrived together changed the device's state, one after the other. */
  reported: ReportedRun
  /**
   * Readings of a device, in the columns of `AppendBatch.samples`; includes repeated ones. `isInOrder` is true if each
   * is certainly later than the one before it. `recorded` has them with the stored times, which differ only while the
   * clock of the device is wrong.
   */
  sampled: {
    device: Device
    numbers: Float64Array
    recorded: Float64Array
    isInOrder: boolean
    latestMs: number
  }
  /** Readings were added to the history only. */
  backfilled: { hardwareId: string; fromMs: number; toMs: number; count: number }
  /** Records of a device were imported or deleted, which no other event reports. */
  historyChanged: { hardwareId: string }
  lockChanged: {
    hardwareId: string
    eventId: string
    event: LockKind
    source: LockSource
    code: string | null
    /** Command that caused it, according to the device. */
    commandId: string | null
    /** Metadata of the command that caused it. */
    metadataJson: string | null
    /** Stored time. */
    atMs: number
    /** Time by a correct clock. */
    liveAtMs: number
  }
  /** A device entered or left a zone; positions in degrees. */
  zoneCrossed: {
    hardwareId: string
    eventId: string
    event: GeofenceEventKind
    /** Null for a zone of the site. */
    groupId: number | null
    zoneId: string
    zoneName: string
    zoneType: ZoneType
    atMs: number
    lat: number
    long: number
  }
  /** A cart called, or withdrew a call: the store has it. */
  called: { hardwareId: string }
  presenceChanged: { hardwareId: string; isOnline: boolean; atMs: number }
  /** The clock of a device was found to be wrong, wrong by another amount, or right. */
  deviceClockJudged: { hardwareId: string }
  /** Two connections take the id of a device from each other. */
  idContested: { hardwareId: string }
  /** A device connected, and its subscription to its commands is active; once per connection. */
  deviceReachable: { hardwareId: string }
  /** A device acknowledged a command; `late` means after its end. */
  commandAnswered: { command: CommandRow; outcome: 'moved' | 'late' | 'repeated' }
  /** A command reached another state, for whatever reason. */
  commandMoved: { command: CommandRow; atMs: number }
  /** Locks wait until the carts of these devices have reported their positions. */
  positionWanted: { hardwareIds: readonly string[] }
  deviceRegistered: { hardwareId: string }
  deviceRemoved: { hardwareId: string }
  /** A password of the device was shown to an admin: credentials that do not need it have become invalid. */
  devicePasswordIssued: { hardwareId: string }
  /** The name, type or group of a device was changed, by a user or the hub. */
  deviceChanged: { hardwareId: string }
  /** A device moved to another group, or to none (null). */
  groupChanged: { hardwareId: string; groupId: number | null; previousGroupId: number | null }
  /** The key of the user has become invalid: rotated, disabled or deleted. */
  keyRevoked: { userId: string; keptSessionId?: string }
  /** An erasure blanked values in rows of this table, so copies in memory must be read again. */
  erased: { table: string }
  /** The hub requests another comparison. */
  resendRequested: { kind: AuditKind | null; dayMs: number | null }
  /** All carts were evaluated again, including changes due to time: a tick, at least once a second. */
  cartsEvaluated: { carts: readonly Cart[]; nowMs: number }
  /** The view of a cart changed; a new position alone does not count. */
  cartChanged: {
    cart: Cart
    /** Devices that left the cart since the last event. */
    leftIds: readonly string[]
  }
  /** The last cart with this name was removed; its devices were removed or are in other carts. */
  cartRemoved: { key: string; hardwareIds: readonly string[] }
  alertChanged: { event: AlertEvent; alert: Alert; atMs: number }
  /** Zones of the site were changed or overridden. */
  zonesChanged: { version: number }
  /** The course map or its photo was changed. */
  courseChanged: { version: number }
  siteChanged: { settings: SiteSettings }
  partyChanged: { event: 'changed' | 'removed'; party: Party }
  /** Services of these carts became due, or were. */
  servicesJudged: { carts: readonly string[] }
  /** A recall started, a screen confirmed it (`hardwareId`), or it ended. */
  recallChanged: {
    event: 'started' | 'confirmed' | 'ended'
    recall: RecallRow
    hardwareId: string | null
    atMs: number
  }
  /** A message to carts was sent, or screens confirmed it. */
  messageChanged: { event: 'sent' | 'confirmed'; message: ShownMessage; atMs: number }
  /** Automatic actions may use the clock from now on. */
  clockConfirmed: { by: TimeSource; atMs: number }
  /** An admin confirmed that this site continues on this host. */
  machineConfirmed: object
  /** Role or scope of a user changed while the key remains valid. */
  scopeChanged: { userId: string }
  pinChanged: { userId: string }
  /** A user is locked on all tablets for wrong PINs; reported again after a start. */
  pinLocked: { userId: string; lockedMs: number }
  /** A session ended: signed out, ended by an admin, expired, or the key of its user was revoked. */
  sessionEnded: { sessionId: string }
  /** The PIN user or the access of a session changed. */
  sessionChanged: { sessionId: string }
}

type Listener<Name extends keyof GatewayEvents> = (event: GatewayEvents[Name]) => void

/**
 * Dispatches in-process events. A listener that throws affects neither the sender nor others: the first failure for a
 * reason is logged, and that it succeeded again.
 */
export class Events {
  readonly #listeners: { [Name in keyof GatewayEvents]?: Listener<Name>[] } = {}
  /** Reason and number of the last failures of listeners that failed. */
  readonly #failing = new Map<unknown, { reason: string; failures: number }>()
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  on<Name extends keyof GatewayEvents>(name: Name, listener: Listener<Name>): void {
    const listeners: Listener<Name>[] = this.#listeners[name] ?? []
    listeners.push(listener)
    Object.assign(this.#listeners, { [name]: listeners })
  }

  emit<Name extends keyof GatewayEvents>(name: Name, event: GatewayEvents[Name]): void {
    for (const listener of this.#listeners[name] ?? []) {
      try {
        listener(event)
        if (this.#failing.size > 0) this.#succeeded(name, listener)
      } catch (error) {
        this.#failed(name, listener, describeError(error))
      }
    }
  }

  #failed(event: string, listener: unknown, reason: string): void {
    const before = this.#failing.get(listener)
    if (before?.reason !== reason) this.#log.error({ event, reason }, 'an event listener failed')
    this.#failing.set(listener, { reason, failures: (before?.failures ?? 0) + 1 })
  }

  #succeeded(event: string, listener: unknown): void {
    const before = this.#failing.get(listener)
    if (before === undefined) return
    this.#failing.delete(listener)
    this.#log.info({ event, failures: before.failures }, 'an event listener succeeded again')
  }
}
