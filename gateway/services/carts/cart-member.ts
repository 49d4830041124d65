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

/** What is kept of a device over a restart, beside its history: JSON. */
export interface SavedMotion {
  motion: CartMotion
  outSinceMs: number | null
  /** Whether it was in a parking zone when it was looked at last; null while it was never seen. */
  wasIn: boolean | null
  /** Stays that began anew because the clock was set: by zone, what they began at before and now. */
  anew: Record<string, [sinceMs: number, anewMs: number]>
  /** How far its clock is ahead, while it is wrong. */
  clockOffMs?: number
}

/** When and by which settings a device is looked at. */
export interface EvaluationContext {
  nowMs: number
  /** What is known after it was the mistake of a clock. */
  latestMs: number
  settings: CartSettings & MotionSettings
  /** When the clock was last set by more than a minute; null for never. */
  clockSetMs: number | null
  /** Nobody listened before. */
  startedAtMs: number
}

const NO_STAYS: readonly ZoneStay[] = []

/** A device as a part of its cart: what follows from all that it said. */
export class CartMember {
  readonly device: Device
  readonly track = new MotionTrack()
  readonly #lock = new ReportedLockState()
  #outSinceMs: number | null = null
  #wasIn: boolean | null = null
  /** Event time of the fix with which it left parking, since it was last seen there. */
  #leftMs: number | null = null
  #anew: SavedMotion['anew'] = {}
  #stays: readonly ZoneStay[] = NO_STAYS
  /** The same without what the clock made of them. */
  #known: readonly ZoneStay[] = NO_STAYS
  /** Event time of the fix outside of parking that the next has to confirm. */
  #turnedMs: number | null = null
  /** Where it is among zones of groups that only other devices of the cart are in. */
  #foreign: WatchState = NO_ZONE_STATE
  /** What came since it was looked at there; null while there are no such zones. */
  #foreignSamples: SampleColumns[] | null = null
  #seen: { watch: WatchState; set: WatchedSet | null } | null = null
  /** What it said last, and what that was made of. */
  #said: CartDevice | null = null
  #saidOf: ReportedState | null = null
  /** It may say something else now, though nothing came that would show it. */
  #isDoubtful = false
  /** What was kept last. */
  #kept = ''

  constructor(device: Device) {
    this.device = device
  }

  /** Takes samples that were stored; see `MotionTrack.take`. */
  take(numbers: SampleColumns, isInOrder: boolean, settings: MotionSettings, latestMs: number): void {
    this.track.take(numbers, isInOrder, settings, latestMs)
    this.#foreignSamples?.push(numbers)
  }

  /** Goes on from what was kept before a restart; an earlier program may not have kept all of it. */
  recall({ motion, outSinceMs = null, wasIn = null, anew = {}, clockOffMs }: Partial<SavedMotion>): void {
    if (clockOffMs !== undefined) this.device.clock.offMs = clockOffMs
    this.track.motion = { ...NO_MOTION, ...motion }
    this.#outSinceMs = outSinceMs
    this.#wasIn = wasIn
    this.#anew = anew
  }

  /** Takes the newest records of the device where nothing is known of how it got there. */
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

  /** Whether nobody knows when it left parking: it has, or it was never seen there. */
  get isDepartureUnknown(): boolean {
    return this.track.motion.fix !== null && (this.#outSinceMs === null || this.#wasIn === true)
  }

  /** Event time of the fix that left parking, as far as is known. */
  get outSinceMs(): number | null {
    return this.#outSinceMs
  }

  /** It left a parking zone, by event time. */
  left(atMs: number): void {
    this.#isDoubtful = true
    this.#leftMs = atMs
    if (this.#outSinceMs !== null) this.#outSinceMs = atMs
  }

  /** Stillness and stays begin anew: the clock was set. */
  startAgain(nowMs: number): void {
    this.#isDoubtful = true
    this.track.motion = restless(this.track.motion, nowMs)
    this.#anew = Object.fromEntries(this.#known.map(({ zoneId, sinceMs }) => [zoneId, [sinceMs, nowMs]]))
    this.#seen = null
  }

  /** What its lock did last, by an event. */
  heardLock(event: LockReport): void {
    this.#isDoubtful = true
    this.#lock.heard(event)
  }

  /** The newest event of its lock there is, null for none: whatever it was known by before counts no more. */
  rereadLock(event: LockReport | null): void {
    this.#isDoubtful = true
    this.#lock.forget()
    if (event !== null) this.#lock.heard(event)
  }

  /** What the device says of its cart now: the same object as before while it says the same. */
  said(zones: DeviceZones, look: EvaluationContext): CartDevice {
    const { row, isOnline, reported } = this.device
    const motion = this.#look(look)
    const stays = motion.fix === null ? NO_STAYS : this.#staysNow(zones, motion.fix, look.latestMs)
    this.#judgeDeparture(motion, stays)
    // one by one: it is made for every device every second
    const said: CartDevice = {
      hardwareId: row.hardwareId,
      deviceType: row.deviceType,
      isOnline,
      motion,
      stays,
      heardAtMs: heardAtMs(reported.lastRespondedAtMs, look),
      saidSleep: reported.state.status?.r === 'sleep',
      outSinceMs: this.#outSinceMs,
      lock: this.#lock.now(reported.state),
    }
    if (this.#said === null || !isReportedAlike(this.#said, said)) this.#said = said
    this.#saidOf = reported
    // the clock has still to come to when it was heard
    this.#isDoubtful = said.heardAtMs !== reported.lastRespondedAtMs
    return this.#said
  }

  /**
   * Whether it would say this again: nothing came since. What is other by zones, settings and clocks it does not know.
   */
  isSaying(said: CartDevice | undefined): boolean {
    const { device } = this
    return (
      said !== undefined &&
      said === this.#said &&
      this.track.isAt(said.motion) &&
      !this.#isDoubtful &&
      device.reported === this.#saidOf &&
      device.isOnline === said.isOnline
    )
  }

  /** What is to be kept, as JSON; null when that is what was kept last. */
  news(): string | null {
    const { offMs } = this.device.clock
    const kept: SavedMotion = {
      motion: this.track.motion,
      outSinceMs: this.#outSinceMs,
      wasIn: this.#wasIn,
      anew: this.#anew,
      ...(offMs === null ? {} : { clockOffMs: offMs }),
    }
    const text = JSON.stringify(kept)
    return text === this.#kept ? null : text
  }

  isKept(text: string): void {
    this.#kept = text
  }

  #look({ settings, latestMs }: EvaluationContext): CartMotion {
    const { gps, battery } = this.device.reported
    const { fix, battery: voltage } = this.track.look(settings, latestMs)
    // what came before its history was deleted counts no more
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
      // nobody else watches it there: each fix in its order, as with its own zones
      takeFixes(this.#foreignSamples ?? [], { last: null, untilMs: fix.atMs - 1 }, (passed) => {
        this.#foreign = watch(this.#foreign, foreign.watched, passed, latestMs).state
      })
      this.#foreignSamples = []
      this.#foreign = watch(this.#foreign, foreign.watched, fix, latestMs).state
      this.#known = [...staysIn(state, own, fix), ...staysIn(this.#foreign, foreign, fix)].sort(byZone)
    }
    this.#seen = { watch: state, set: own }
    const stays = this.#known.map((stay) => this.#begunAnew(stay))
    this.#stays = isSameStays(this.#stays, stays) ? this.#stays : stays
    this.#turnedMs = this.#stays.some(isParking) ? turnedMsOf(state, this.#stays) : this.#turnedMs
    return this.#stays
  }

  #begunAnew(stay: ZoneStay): ZoneStay {
    const [sinceMs, anewMs] = this.#anew[stay.zoneId] ?? []
    return anewMs !== undefined && sinceMs === stay.sinceMs ? { ...stay, sinceMs: anewMs } : stay
  }

  #judgeDeparture({ fix }: CartMotion, stays: readonly ZoneStay[]): void {
    const isIn = stays.some(isParking)
    if (fix === null || isIn) {
      this.#outSinceMs = null
      this.#leftMs = null
    } else {
      // nobody saw it leave: it was there by one fix only, or the zone is gone
      const firstMs = this.#wasIn === null ? (this.track.firstFixMs ?? fix.atMs) : fix.atMs
      this.#outSinceMs ??= this.#leftMs ?? this.#turnedMs ?? firstMs
      this.#turnedMs = null
    }
    this.#wasIn = fix === null ? null : isIn
  }
}

/** Receive time of its last message; one before the clock was set back counts from then. */
function heardAtMs(saidAtMs: number | null, { nowMs, clockSetMs }: EvaluationContext): number | null {
  return saidAtMs !== null && clockSetMs !== null && saidAtMs > nowMs ? clockSetMs : saidAtMs
}

/** Whether the stays are the same by another state of the same zones: nearly always only the last fix is another. */
function isSameWatch(before: WatchState, now: WatchState, own: WatchedSet | null): boolean {
  if (before === now || own === null) return true
  const { zones, last, fingerprints } = now
  const { fingerprints: known } = own.watched
  if (before.last === null || last === null || before.zones.length !== zones.length) return false
  if (fingerprints !== known || before.fingerprints !== known) return false
  for (const [i, zone] of zones.entries()) {
    // one that says no time has stayed since the last fix
    if (zone !== before.zones[i] || (zone.isInside && zone.sinceMs === undefined)) return false
  }
  return true
}

function isReportedAlike(one: CartDevice, other: CartDevice): boolean {
  return (
    one.motion === other.motion &&
    one.isOnline === other.isOnline &&
    one.heardAtMs === other.heardAtMs &&
    one.saidSleep === other.saidSleep &&
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

/** When the last fix was outside of a parking zone that it is still in for want of another. */
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
