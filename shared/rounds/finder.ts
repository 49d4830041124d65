import { HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import { UnchangedArea } from '#shared/zones/unchanged-area.ts'
import { type Fix, NO_ZONE_STATE, type WatchState, watch, type ZoneState } from '#shared/zones/watch.ts'
import { addFix, isNoWay, type Mileage } from './odometer.ts'
import { type HolePresence, isKept, leaveHole, NO_HOLES_PLAYED, type PlayedHoles, playOn } from './play.ts'
import type { Round, RoundDevice } from './round.ts'
import type { RoundZones } from './round-zones.ts'

/** As for carts (R16): another device speaks only when the one that does has been behind for so long. */
const OTHER_AHEAD_MS = MINUTE_MS
/** A way that leads through parking ends no round. */
const PARKED_MS = MINUTE_MS
/** After so long without a fix nobody knows where the cart was: its next fix is as its first. */
export const MAX_FIX_GAP_MS = 4 * HOUR_MS
/**
 * Of the fixes in each half second by the clock only the first counts: a cart drives 10 m at most meanwhile. Slots of
 * the clock and not a time since the last: so it is the same wherever reading begins.
 */
const SLOT_MS = 500
/** Longer than a course is open: a cart that stays out there at night is on no round next morning. */
export const LONGEST_MS = 16 * HOUR_MS

/** A round that has not ended for good: while the cart may be on its way through parking it may go on. */
interface OpenRound {
  id: string
  startedMs: number
  endedMs: number | null
  /** Its length, once it ended. */
  endM: number
  play: PlayedHoles
}

/** What is known of a cart and its rounds: JSON, with which a finder goes on. */
export interface RoundState {
  watch: WatchState
  /** The device that said where the cart is, its newest fix that counted, and the one before. */
  speaker: RoundDevice | null
  lastMs: number | null
  previousMs: number | null
  /** Since the round began that goes on, or that was found last. */
  mileage: Mileage | null
  /** The mileage at the fix before the last: a zone is left and entered at that one. */
  previousM: number
  /** `over` is out, and its round was ended by time. */
  place: 'unknown' | 'parked' | 'out' | 'over'
  open: OpenRound | null
}

/** Fixes of one device in columns, times strictly ascending. */
export interface FixColumns {
  readonly atMs: Float64Array
  readonly latE7: Int32Array
  readonly longE7: Int32Array
}

const UNSEEN: RoundState = {
  watch: NO_ZONE_STATE,
  speaker: null,
  lastMs: null,
  previousMs: null,
  mileage: null,
  previousM: 0,
  place: 'unknown',
  open: null,
}

/**
 * Finds the rounds of one cart in the fixes of its devices, by time. A round begins when the cart leaves parking, or
 * where it is first seen outside, and ends when it is back; it needs a hole. Where zones are entered and left is as
 * zone events have it (`#shared/zones/watch`). Fed fix by fix or all at once, with any number of stops in between, it
 * finds the same.
 */
export class RoundFinder {
  readonly #ground: RoundZones
  readonly #state: RoundState
  /** While this is what is known of zones another fix changes nothing but the mileage; null where it may. */
  #settled: readonly ZoneState[] | null = null
  /** Around the last fix, if it is known. */
  #spot: UnchangedArea | null = null
  #ended: Round[] = []

  constructor(ground: RoundZones, state: RoundState = UNSEEN) {
    this.#ground = ground
    this.#state = { ...state }
  }

  /** To go on from; not to be changed. */
  get state(): RoundState {
    return { ...this.#state }
  }

  /** Whether all that matters is that the cart is parked: whatever it did before its first fix here changes nothing. */
  get isAtRest(): boolean {
    const {
      place,
      open,
      lastMs,
      watch: { zones },
    } = this.#state
    if (place !== 'parked' || open !== null) return false
    const isLong = ({ id, isInside, sinceMs }: (typeof zones)[number]) =>
      isInside && this.#ground.holeOf.get(id) === null && (lastMs ?? 0) - (sinceMs ?? 0) >= PARKED_MS
    return zones.some(isLong)
  }

  /** Rounds that ended for good since this was last called, by time. */
  takeEnded(): Round[] {
    const ended = this.#ended
    this.#ended = []
    return ended
  }

  /** The round that goes on, or that ended a moment ago, as it is at `nowMs`; null while there is none with a hole. */
  roundAt(nowMs: number): Round | null {
    const { open, lastMs, mileage } = this.#state
    if (open === null || lastMs === null) return null
    const overMs =
      nowMs - lastMs > MAX_FIX_GAP_MS ? lastMs : nowMs - open.startedMs >= LONGEST_MS ? endByTime(open) : null
    const shown = open.endedMs === null && overMs !== null ? endAt(open, overMs, mileage?.totalM ?? 0) : open
    return toRound(shown, mileage?.totalM ?? 0)
  }

  /** Whether a fix of that time comes too soon after the last that counted to say more. */
  isDense(atMs: number): boolean {
    const { lastMs } = this.#state
    return lastMs !== null && atMs > lastMs && isSameSlot(atMs, lastMs)
  }

  /**
   * Takes the next fix. Says `late` of one that should have come before others: the rounds are to be found anew, from
   * all that is stored. What says nothing, because another device speaks for the cart or it is dense, is left out.
   */
  take(device: RoundDevice, fix: Fix): 'taken' | 'left out' | 'late' {
    const state = this.#state
    const { lastMs, previousMs, speaker } = state
    if (this.isDense(fix.atMs)) return 'left out'
    if (lastMs !== null && speaker !== null) {
      const isOther = device.hardwareId !== speaker.hardwareId
      const outranks = device.isLock && !speaker.isLock
      if (fix.atMs <= lastMs) {
        const isOutspoken = previousMs !== null && fix.atMs >= previousMs && fix.atMs - previousMs <= OTHER_AHEAD_MS
        return isOther && !outranks && isOutspoken ? 'left out' : 'late'
      }
      if (isOther && !outranks && fix.atMs - lastMs <= OTHER_AHEAD_MS) return 'left out'
      if (fix.atMs - lastMs > MAX_FIX_GAP_MS) this.#forget(lastMs)
    }
    if (state.speaker?.hardwareId !== device.hardwareId) state.speaker = device
    this.#spot = null
    state.previousMs = state.lastMs
    state.lastMs = fix.atMs
    state.previousM = state.mileage?.totalM ?? 0
    state.mileage = addFix(state.mileage, fix)
    if (this.#ground.hasParking) this.#look(fix)
    return 'taken'
  }

  /**
   * Takes fixes of a device from one on as `take` would one by one, as long as they are before `untilMs`, have a place
   * (0,0 is none) and say no more than that the cart stands or drives on in the zones that it is in, as nearly all do.
   * Returns the place of the first that it did not take.
   */
  takeCalm(device: RoundDevice, { atMs, latE7, longE7 }: FixColumns, from: number, untilMs: number): number {
    const state = this.#state
    const { speaker, open, watch: seen } = state
    let { lastMs, previousMs, mileage, previousM } = state
    let [last, zones]: [Fix | null, readonly ZoneState[]] = [seen.last, seen.zones]
    if (zones !== this.#settled || last === null || lastMs === null || mileage === null) return from
    if (speaker?.hardwareId !== device.hardwareId) return from
    const endMs = open === null || open.endedMs !== null ? untilMs : Math.min(untilMs, endByTime(open))
    const fixAt = (i: number): Fix => ({ atMs: atMs[i] ?? 0, latE7: latE7[i] ?? 0, longE7: longE7[i] ?? 0 })
    let spot = this.#spot
    let taken = -1
    let at = from
    for (; at < atMs.length; at++) {
      const ms = atMs[at] ?? 0
      const lat = latE7[at] ?? 0
      const long = longE7[at] ?? 0
      if (ms >= endMs || ms <= lastMs || ms - lastMs > MAX_FIX_GAP_MS) break
      if (lat === 0 && long === 0) break
      if (isSameSlot(ms, lastMs)) continue
      if (spot?.holds(lat, long) !== true) {
        if (taken >= 0) last = fixAt(taken)
        zones = spot?.after(last) ?? zones
        spot = UnchangedArea.draw(this.#ground.watched, zones, last, fixAt(at))
        if (spot === null) break
      }
      previousM = mileage.totalM
      if (!isNoWay(mileage, lat, long)) mileage = addFix({ ...mileage, lastMs }, fixAt(at))
      else if (mileage.isDoubted) mileage = { ...mileage, isDoubted: false }
      previousMs = lastMs
      lastMs = ms
      taken = at
    }
    if (taken < 0) return at
    last = fixAt(taken)
    zones = spot?.after(last) ?? zones
    this.#spot = spot?.known === zones ? spot : null
    this.#settled = zones
    state.watch = { ...seen, last, zones }
    state.lastMs = lastMs
    state.previousMs = previousMs
    state.mileage = { ...mileage, lastMs }
    state.previousM = previousM
    return at
  }

  /** Where the cart is by this fix, and what that makes of its round. */
  #look(fix: Fix): void {
    const state = this.#state
    const before = state.watch
    state.watch = watch(before, this.#ground.watched, fix).state
    this.#endInTime(fix.atMs)
    const { zones } = state.watch
    if (zones === this.#settled) return
    const { parkedMs, holes } = this.#presence(fix)
    if (parkedMs === null) this.#drive(before, holes, fix)
    else this.#park(parkedMs, fix.atMs)
    this.#settled = this.#isSettled(holes) ? zones : null
  }

  /** Whether the round stays as it is as long as the cart is where it is, in the zones of these holes. */
  #isSettled(holes: readonly HolePresence[]): boolean {
    const { open, place } = this.#state
    if (open === null) return true
    // a cart in parking may yet be on its way through
    return place !== 'parked' && isKept(open.play, sinceStart(holes, open), this.#ground)
  }

  /** Out of parking, in the zones of these holes. */
  #drive(before: WatchState, holes: readonly HolePresence[], fix: Fix): void {
    const state = this.#state
    if (state.place === 'unknown') this.#begin(fix, fix)
    else if (state.place === 'parked') this.#leave(this.#leftAt(before, null, fix), fix)
    const { open } = state
    if (open === null || open.endedMs !== null) return
    const inside = sinceStart(holes, open)
    const current = currentHole(open.play)
    const { atMs: leftMs } = current === undefined ? fix : this.#leftAt(before, current, fix)
    const play = playOn(open.play, inside, { atMs: fix.atMs, leftMs }, this.#ground)
    if (play !== open.play) state.open = { ...open, play }
  }

  /** Since when it is in parking, and the holes it is in the zones of. */
  #presence(fix: Fix): { parkedMs: number | null; holes: HolePresence[] } {
    let parkedMs: number | null = null
    const holes: HolePresence[] = []
    for (const { id, isInside, sinceMs = fix.atMs } of this.#state.watch.zones) {
      if (!isInside) continue
      const hole = this.#ground.holeOf.get(id) ?? null
      if (hole === null) {
        parkedMs = Math.min(parkedMs ?? sinceMs, sinceMs)
        continue
      }
      const known = holes.find((one) => one.hole === hole)
      if (known === undefined) holes.push({ hole, sinceMs })
      else known.sinceMs = Math.min(known.sinceMs, sinceMs)
    }
    return { parkedMs, holes }
  }

  /**
   * The first fix outside of the zones of a hole, or of parking (null), in which it was: this one says so for the
   * second time.
   */
  #leftAt(before: WatchState, hole: number | null, fix: Fix): Fix {
    for (const { id, isInside, turnedAt } of before.zones)
      if (isInside && turnedAt !== undefined && this.#ground.holeOf.get(id) === hole) return turnedAt
    return fix
  }

  #begin(from: Fix, fix: Fix): void {
    const state = this.#state
    const { atMs: startedMs } = from
    const id = `${state.speaker?.hardwareId}-${startedMs.toString(36)}`
    state.place = 'out'
    // from here on it is the same whatever was known before
    state.mileage = addFix(addFix(null, from), fix)
    state.open = { id, startedMs, endedMs: null, endM: 0, play: NO_HOLES_PLAYED }
  }

  #park(parkedMs: number, atMs: number): void {
    const state = this.#state
    const { open } = state
    state.place = 'parked'
    if (open === null) return
    if (open.endedMs === null) state.open = endAt(open, Math.max(parkedMs, open.startedMs), state.previousM)
    const endedMs = state.open?.endedMs ?? parkedMs
    if (atMs - endedMs >= PARKED_MS) this.#close()
  }

  #leave(leftAt: Fix, fix: Fix): void {
    const state = this.#state
    const { open } = state
    if (open?.endedMs != null && leftAt.atMs - open.endedMs < PARKED_MS && fix.atMs - open.startedMs < LONGEST_MS) {
      state.place = 'out'
      state.open = { ...open, endedMs: null, endM: 0 }
      return
    }
    this.#close()
    this.#begin(leftAt, fix)
  }

  #endInTime(atMs: number): void {
    const state = this.#state
    const { open } = state
    if (open === null || open.endedMs !== null || atMs - open.startedMs < LONGEST_MS) return
    state.open = endAt(open, endByTime(open), state.previousM)
    this.#close()
    state.place = 'over'
  }

  /** Nothing was heard for so long that whatever was known counts no more. */
  #forget(lastMs: number): void {
    const state = this.#state
    if (state.open !== null && state.open.endedMs === null)
      state.open = endAt(state.open, lastMs, state.mileage?.totalM ?? 0)
    this.#close()
    Object.assign(state, UNSEEN)
  }

  #close(): void {
    const { open } = this.#state
    this.#state.open = null
    const round = open && toRound(open, open.endM)
    if (round !== null) this.#ended.push(round)
  }
}

/** The hole that is being played. */
function currentHole({ holes, visit }: PlayedHoles): number | undefined {
  return visit === null ? undefined : holes[visit.index]?.hole
}

function isSameSlot(atMs: number, lastMs: number): boolean {
  return Math.floor(atMs / SLOT_MS) === Math.floor(lastMs / SLOT_MS)
}

/** Holes that a cart is in, of a round: what was before it does not count. */
function sinceStart(holes: readonly HolePresence[], { startedMs }: OpenRound): HolePresence[] {
  return holes.map(({ hole, sinceMs }) => ({ hole, sinceMs: Math.max(sinceMs, startedMs) }))
}

function endByTime({ startedMs }: OpenRound): number {
  return startedMs + LONGEST_MS
}

function endAt(open: OpenRound, endedMs: number, endM: number): OpenRound {
  return { ...open, endedMs, endM, play: leaveHole(open.play, endedMs) }
}

/** Null for one without a hole. */
function toRound({ id, startedMs, endedMs, endM, play }: OpenRound, nowM: number): Round | null {
  const { holes } = play
  if (holes.length === 0) return null
  return { id, startedMs, endedMs, holes, distanceM: endedMs === null ? nowM : endM }
}
