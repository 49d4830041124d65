import type { Alert } from '#domain/alert.ts'
import type { TimeSource } from '#domain/clock-state.ts'
import type { Scalar } from '#domain/telemetry.ts'
import type { Cart } from '#services/cart.ts'
import type { Device } from '#services/fleet.ts'
import { describeError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import type { SiteSettings } from '#shared/site/settings.ts'
import type { GeofenceEventKind } from '#shared/wire/geofence-events.ts'
import type { LockKind, LockSource } from '#shared/wire/lock-events.ts'
import type { AuditKind } from '#shared/wire/replication/sync.ts'
import type { ZoneType } from '#shared/zones/zone.ts'
import type { CommandRow } from '#store/tables/commands.ts'
import type { RecallRow } from '#store/tables/recall.ts'

/** What a reading changed in the state of its device: the values that moved, and when it was taken. */
export interface Move {
  atMs: number
  values: Record<string, Scalar>
}

/** A device and its readings that moved its state, in order; there is at least one. */
export interface ReportedRun {
  readonly hardwareId: string
  /** May be worked out when it is asked for: not to be asked for what nobody wants to know. */
  readonly moves: readonly Move[]
  readonly updatedAtMs: number
  readonly lastRespondedAtMs: number
}

/** What happened, told after it is on the disk. Times are milliseconds since 1970. */
export interface GatewayEvents {
  /** A message of a device was taken: also one that moved nothing but when it was last heard of. */
  heard: { hardwareId: string }
  /** Readings that came together moved the device's state, one after the other. */
  reported: ReportedRun
  /**
   * Readings of a device, in the columns of `AppendBatch.samples`; also those that were there before. `isInOrder` says
   * that each is later than the one before it, for certain. In `recorded` they have the times that are stored, which
   * are others only while the clock of the device is wrong.
   */
  sampled: {
    device: Device
    numbers: Float64Array
    recorded: Float64Array
    isInOrder: boolean
    latestMs: number
  }
  /** Readings that went to history only. */
  backfilled: { hardwareId: string; fromMs: number; toMs: number; count: number }
  /** Records of a device were imported or deleted: nothing else tells of them. */
  historyChanged: { hardwareId: string }
  lockChanged: {
    hardwareId: string
    eventId: string
    event: LockKind
    source: LockSource
    code: string | null
    /** The command that caused it, as the device says. */
    commandId: string | null
    /** What the command that caused it said for it. */
    metadataJson: string | null
    /** As it is stored. */
    atMs: number
    /** By a clock that is right. */
    liveAtMs: number
  }
  /** A device entered or left a zone; degrees. */
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
  presenceChanged: { hardwareId: string; isOnline: boolean; atMs: number }
  /** It is known that the clock of a device is wrong, by another amount, or right. */
  deviceClockJudged: { hardwareId: string }
  /** Two connections take the id of a device from each other. */
  idContested: { hardwareId: string }
  /** Connected, and its subscription to its commands is in force; told once a connection. */
  deviceReachable: { hardwareId: string }
  /** A device said something about a command; `late` comes after its end. */
  commandAnswered: { command: CommandRow; outcome: 'moved' | 'late' | 'repeated' }
  /** A command got into another state, for whatever reason. */
  commandMoved: { command: CommandRow; atMs: number }
  /** Locks wait until it is known where the carts of these devices are. */
  positionWanted: { hardwareIds: readonly string[] }
  deviceRegistered: { hardwareId: string }
  deviceRemoved: { hardwareId: string }
  /** An admin is shown a password of the device: whatever opens without it does so no more. */
  devicePasswordIssued: { hardwareId: string }
  /** Its name, type or group was changed, by a person or the head office. */
  deviceChanged: { hardwareId: string }
  /** The device is in another group, or in none (null), than it was. */
  groupChanged: { hardwareId: string; groupId: number | null; previousGroupId: number | null }
  /** The key of the user opens nothing any more: rotated, disabled or deleted. */
  keyRevoked: { userId: string; keptSessionId?: string }
  /** An erasure blanked values in rows of this table: who has them in memory reads them again. */
  erased: { table: string }
  /** The head office wants something compared again. */
  resendRequested: { kind: AuditKind | null; dayMs: number | null }
  /** All carts were judged anew, with what time changes of them: at least once a second. */
  cartsJudged: { carts: readonly Cart[]; nowMs: number }
  /** What people are told of a cart changed; its position alone is no change. */
  cartChanged: {
    cart: Cart
    /** Devices that are not in it any more and were when it was told of last. */
    leftIds: readonly string[]
  }
  /** There is no cart of this name any more; its devices are gone or in other carts. */
  cartRemoved: { key: string; hardwareIds: readonly string[] }
  /** An alert was opened, acknowledged or closed. */
  alertChanged: { event: 'opened' | 'acknowledged' | 'closed'; alert: Alert }
  /** Zones of the site were changed, or switched. */
  zonesChanged: { version: number }
  /** The drawing of the course or its photo was changed. */
  courseChanged: { version: number }
  /** The settings of the site changed. */
  siteChanged: { settings: SiteSettings }
  /** All carts were called in, a screen confirmed it (`hardwareId`), or it is over. */
  recallChanged: {
    event: 'started' | 'confirmed' | 'ended'
    recall: RecallRow
    hardwareId: string | null
    atMs: number
  }
  /** From now on what acts by itself may go by the clock. */
  clockConfirmed: { by: TimeSource; atMs: number }
  /** A person says that this course goes on on this machine. */
  machineConfirmed: object
  /** Role or scope changed while the key stays good. */
  scopeChanged: { userId: string }
  /** The user has another PIN, or none any more. */
  pinChanged: { userId: string }
  /** A person is locked on all tablets for wrong PINs, until then by the gateway's clock. */
  pinLocked: { userId: string; untilMs: number }
  /** A session is over: signed out, ended by an admin, expired, or its user's key is void. */
  sessionEnded: { sessionId: string }
  /** Somebody else acts on a session, or what it may do has changed. */
  sessionChanged: { sessionId: string }
}

type Listener<Name extends keyof GatewayEvents> = (event: GatewayEvents[Name]) => void

/** In-process events. A listener that throws is logged and harms neither the sender nor the other listeners. */
export class Events {
  readonly #listeners: { [Name in keyof GatewayEvents]?: Listener<Name>[] } = {}
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
      } catch (error) {
        this.#log.error({ event: name, reason: describeError(error) }, 'an event listener failed')
      }
    }
  }
}
