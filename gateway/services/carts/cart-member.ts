import type { CartDevice, CartSettings, ZoneStay } from '#shared/carts/cart-state.ts'
import { type CartFix, type CartMotion, type MotionSettings, NO_MOTION, restless } from '#shared/carts/motion.ts'
import { toE7, toMilli } from '#shared/geo.ts'
import { NO_ZONE_STATE, type WatchState, watch } from '#shared/zones/watch.ts'
import type { Device, ReportedState } from '../fleet.ts'
import type { WatchedSet } from '../zones/sets.ts'
import { type DeviceZones, staysIn } from './cart-zones.ts'
import { MotionTrack } from './motion-track.ts'
import { type LockReport, ReportedLockState } from './reported-lock.ts'
import { type SampleColumns, takeFixes } from './sample-columns.ts'

/** State of a device that outlives a restart in addition to its history; stored as JSON. */
export interface SavedMotion {
  motion: CartMotion
  outSinceMs: number | null
  /** True if the last evaluation found it in a parking zone; null without a position. */
  wasIn: boolean | null
  /** Dwells that restarted because the clock was set: their former and new start, keyed by zone. */
  anew: Record<string, [sinceMs: number, anewMs: number]>
  /** Time by which its clock is ahead, while it is wrong. */
  clockOffMs?: number
}

export interface EvaluationContext {
  nowMs: number
  /** Latest credible time; a later timestamp was a clock error. */
  latestMs: number
  settings: CartSettings & MotionSettings
  /** Time at which the clock was last set by more than a minute; null for never. */
  clockSetMs: number | null
  /** Start of the gateway; messages sent earlier were not received. */
  startedAtMs: number
}

const NO_STAYS: readonly ZoneStay[] = []

/** Device as a member of its cart: the state derived from everything that it reported. */
export class CartMember {
  readonly device: Device
  readonly track = new MotionTrack()
  readonly #lock = new ReportedLockState()
  #outSinceMs: number | null = null
  #wasIn: boolean | null = null
  /** Event time of the fix with which it last left parking; null while it is in a parking zone. */
  #leftMs: number | null = null
  #restarted: SavedMotion['anew'] = {}
  #stays: readonly ZoneStay[] = NO_STAYS
  /** The same without the adjustments after the clock was set. */
  #known: readonly ZoneStay[] = NO_STAYS
  /** Event time of a fix outside parking that the next fix must confirm. */
  #turnedMs: number | null = null
  /** State in the zones of groups that only other devices of the cart belong to. */
  #foreign: WatchState = NO_ZONE_STATE
  /** Samples received since the last evaluation of those zones; null without such zones. */
  #foreignSamples: SampleColumns[] | null = null
  #seen: { watch: WatchState; set: WatchedSet | null } | null = null
  /** Last report, and the state it was built from. */
  #report: CartDevice | null = null
  #reportedState: ReportedState | null = null
  /** True if the report may differ now without a new message. */
  #isDoubtful = false
  /** Last saved state. */
  #kept = ''

  constructor(device: Device) {
    this.device = device
  }

  /** Takes stored samples; see `MotionTrack.take`. */
  take(numbers: SampleColumns, isInOrder: boolean, settings: MotionSettings, latestMs: number): void {
    this.track.take(numbers, isInOrder, settings, latestMs)
    this.#foreignSamples?.push(numbers)
  }

  /** Restores the state saved before a restart; an earlier version may not have saved all fields. */
  recall({ motion, outSinceMs = null, wasIn = null, anew: restarted = {}, clockOffMs }: Partial<SavedMotion>): void {
    if (clockOffMs !== undefined) this.device.clock.restore(clockOffMs)
    this.track.motion = { ...NO_MOTION, ...motion }
    this.#outSinceMs = outSinceMs
    this.#wasIn = wasIn
    this.#restarted = restarted
  }

  /** Takes the device's newest records if the history before them is unknown. */
  recallLatest({ settings, latestMs }: Pick<EvaluationContext, 'settings' | 'latestMs'>): void {
    const { gps, battery } = this.device.reported
    const { motion } = this.track
    const none = Number.NaN
    if (gps !== null && motion.fix === null) {
      const speed = gps.speedKmh === null ? none : toMilli(gps.speedKmh)
      this.track.take(
        Float64Array.of(0, gps.atMs, toE7(gps.lat), toE7(gps.long), speed, none),
        true,
        settings,
        latestMs,
      )
    }
    if (battery !== null && motion.battery === null) {
      const numbers = Float64Array.of(0, battery.atMs, none, none, none, toMilli(battery.voltageV))
      this.track.take(numbers, true, settings, latestMs)
    }
  }

  /** True if the departure from parking was not observed: it was saved as inside, or has no departure time. */
  get isDepartureUnknown(): boolean {
    return this.track.motion.fix !== null && (this.#outSinceMs === null || this.#wasIn === true)
  }

  /** Event time of the fix that left parking; null if unknown. */
  get outSinceMs(): number | null {
    return this.#outSinceMs
  }

  /** Records that it left a parking zone at this event time. */
  left(atMs: number): void {
    this.#isDoubtful = true
    this.#leftMs = atMs
    if (this.#outSinceMs !== null) this.#outSinceMs = atMs
  }

  /** Restarts standstill and dwells after the clock was set. */
  startAgain(nowMs: number): void {
    this.#isDoubtful = true
    this.track.motion = restless(this.track.motion, nowMs)
    this.#restarted = Object.fromEntries(this.#known.map(({ zoneId, sinceMs }) => [zoneId, [sinceMs, nowMs]]))
    this.#seen = null
  }

  takeLockReport(event: LockReport): void {
    this.#isDoubtful = true
    this.#lock.take(event)
  }

  /** Replaces all that is known of its lock with its newest stored event; null for none. */
  rereadLock(event: LockReport | null): void {
    this.#isDoubtful = true
    this.#lock.forget()
    if (event !== null) this.#lock.take(event)
  }

  /** Returns the device's current report about its cart; the same object while nothing changes. */
  report(zones: DeviceZones, context: EvaluationContext): CartDevice {
    const { row, isOnline, reported } = this.device
    const motion = this.#currentMotion(context)
    const stays = motion.fix === null ? NO_STAYS : this.#staysNow(zones, motion.fix, context.latestMs)
    this.#updateDeparture(motion, stays)
    // a plain literal, because it is built for every device every second
    const report: CartDevice = {
      hardwareId: row.hardwareId,
      deviceType: row.deviceType,
      isOnline,
      motion,
      stays,
      lastSeenAtMs: lastSeenAtMs(reported.lastRespondedAtMs, context),
      announcedSleep: reported.state.status?.r === 'sleep',
      outSinceMs: this.#outSinceMs,
      lock: this.#lock.now(reported.state),
    }
    if (this.#report === null || !isReportedAlike(this.#report, report)) this.#report = report
    this.#reportedState = reported
    // the receive time is still ahead of the clock, so the report changes once the clock reaches it
    this.#isDoubtful = report.lastSeenAtMs !== reported.lastRespondedAtMs
    return this.#report
  }

  /** True if nothing received changes the report; ignores zones, settings and clocks, which it does not know. */
  isReportCurrent(report: CartDevice | undefined): boolean {
    const { device } = this
    return (
      report !== undefined &&
      report === this.#report &&
      this.track.isAt(report.motion) &&
      !this.#isDoubtful &&
      device.reported === this.#reportedState &&
      device.isOnline === report.isOnline
    )
  }

  /** Returns the state to save as JSON; null if it equals the last saved one. */
  news(): string | null {
    const { offMs, isWrong } = this.device.clock
    const kept: SavedMotion = {
      motion: this.track.motion,
      outSinceMs: this.#outSinceMs,
      wasIn: this.#wasIn,
      anew: this.#restarted,
      ...(offMs !== null && isWrong ? { clockOffMs: offMs } : {}),
    }
    const text = JSON.stringify(kept)
    return text === this.#kept ? null : text
  }

  isKept(text: string): void {
    this.#kept = text
  }

  #currentMotion({ settings, latestMs }: EvaluationContext): CartMotion {
    const { gps, battery } = this.device.reported
    const { fix, battery: voltage } = this.track.evaluate(settings, latestMs)
    // data received before its history was deleted no longer counts
    const isGone = { gps: gps === null && fix !== null, battery: battery === null && voltage !== null }
    if (isGone.gps || isGone.battery) this.track.forget(isGone)
    return this.track.motion
  }

  #staysNow({ own, foreign }: DeviceZones, fix: CartFix, latestMs: number): readonly ZoneStay[] {
    const { watch: state } = this.device.reported
    if (foreign === null) {
      this.#foreign = NO_ZONE_STATE
      this.#foreignSamples = null
      const isSeen = this.#seen !== null && this.#seen.set === own && isSameWatch(this.#seen.watch, state, own)
      if (isSeen) return this.#stays
      this.#known = staysIn(state, own, fix)
    } else {
      // ingestion does not watch these zones for the device: each fix is evaluated here, in order, as in its own
      takeFixes(this.#foreignSamples ?? [], { last: null, untilMs: fix.atMs - 1 }, (passed) => {
        this.#foreign = watch(this.#foreign, foreign.watched, passed, latestMs).state
      })
      this.#foreignSamples = []
      this.#foreign = watch(this.#foreign, foreign.watched, fix, latestMs).state
      this.#known = [...staysIn(state, own, fix), ...staysIn(this.#foreign, foreign, fix)].sort(byZone)
    }
    this.#seen = { watch: state, set: own }
    const stays = this.#known.map((stay) => this.#withRestart(stay))
    this.#stays = isSameStays(this.#stays, stays) ? this.#stays : stays
    this.#turnedMs = this.#stays.some(isParking) ? turnedMsOf(state, this.#stays) : this.#turnedMs
    return this.#stays
  }

  #withRestart(stay: ZoneStay): ZoneStay {
    const [sinceMs, restartMs] = this.#restarted[stay.zoneId] ?? []
    return restartMs !== undefined && sinceMs === stay.sinceMs ? { ...stay, sinceMs: restartMs } : stay
  }

  #updateDeparture({ fix }: CartMotion, stays: readonly ZoneStay[]): void {
    const isIn = stays.some(isParking)
    if (fix === null || isIn) {
      this.#outSinceMs = null
      this.#leftMs = null
    } else {
      // the departure was not observed: it was inside with one fix only, or the zone was deleted
      const firstMs = this.#wasIn === null ? (this.track.firstFixMs ?? fix.atMs) : fix.atMs
      this.#outSinceMs ??= this.#leftMs ?? this.#turnedMs ?? firstMs
      this.#turnedMs = null
    }
    this.#wasIn = fix === null ? null : isIn
  }
}

/** Returns the receive time of its last message; one from before the clock was set back counts from that setting. */
function lastSeenAtMs(receivedAtMs: number | null, { nowMs, clockSetMs }: EvaluationContext): number | null {
  return receivedAtMs !== null && clockSetMs !== null && receivedAtMs > nowMs ? clockSetMs : receivedAtMs
}

/** True if the dwells are the same in another state of the same zones: usually only the last fix differs. */
function isSameWatch(before: WatchState, now: WatchState, own: WatchedSet | null): boolean {
  if (before === now || own === null) return true
  const { zones, last, fingerprints } = now
  const { fingerprints: known } = own.watched
  if (before.last === null || last === null || before.zones.length !== zones.length) return false
  if (fingerprints !== known || before.fingerprints !== known) return false
  for (const [i, zone] of zones.entries()) {
    // a zone without an entry time has been occupied since the last fix
    if (zone !== before.zones[i] || (zone.isInside && zone.sinceMs === undefined)) return false
  }
  return true
}

function isReportedAlike(one: CartDevice, other: CartDevice): boolean {
  return (
    one.motion === other.motion &&
    one.isOnline === other.isOnline &&
    one.lastSeenAtMs === other.lastSeenAtMs &&
    one.announcedSleep === other.announcedSleep &&
    one.stays === other.stays &&
    one.outSinceMs === other.outSinceMs &&
    one.lock === other.lock &&
    one.hardwareId === other.hardwareId &&
    one.deviceType === other.deviceType
  )
}

function byZone(a: ZoneStay, b: ZoneStay): number {
  return a.zoneId < b.zoneId ? -1 : 1
}

function isParking({ type }: ZoneStay): boolean {
  return type === 'parking'
}

/** Returns the time of the last fix outside a parking zone whose exit still awaits a second fix. */
function turnedMsOf({ zones }: WatchState, stays: readonly ZoneStay[]): number | null {
  const parking = stays.filter(isParking).map(({ zoneId }) => zoneId)
  const turned = zones.find(({ id, turnedAt }) => turnedAt !== undefined && parking.includes(id))
  return turned?.turnedAt?.atMs ?? null
}

function isSameStays(before: readonly ZoneStay[], now: readonly ZoneStay[]): boolean {
  return before.length === now.length && before.every((stay, i) => isSameStay(stay, now[i]))
}

function isSameStay(stay: ZoneStay, other: ZoneStay | undefined): boolean {
  return (
    other !== undefined &&
    stay.zoneId === other.zoneId &&
    stay.sinceMs === other.sinceMs &&
    stay.name === other.name &&
    stay.type === other.type &&
    stay.hole === other.hole
  )
}
