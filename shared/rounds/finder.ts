import { HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import { UnchangedArea } from '#shared/zones/unchanged-area.ts'
import { type Fix, NO_ZONE_STATE, type WatchState, watch, type ZoneState } from '#shared/zones/watch.ts'
import { addFix, isNoWay, type Mileage } from './odometer.ts'
import { type HolePresence, isKept, leaveHole, NO_HOLES_PLAYED, type PlayedHoles, playOn } from './play.ts'
import type { Round, RoundDevice } from './round.ts'
import type { RoundZones } from './round-zones.ts'

/** Age difference from which another device replaces the current one, as for cart states (R16). */
const OTHER_AHEAD_MS = MINUTE_MS
/** Minimum time in parking that ends a round; driving through does not. */
const PARKED_MS = MINUTE_MS
/** Gap after which the position counts as unknown: the next fix is treated as the first. */
export const MAX_FIX_GAP_MS = 4 * HOUR_MS
/**
 * Only the first fix in each half second of the clock counts, during which a cart drives 10 m at most. Slots are
 * aligned to the clock rather than to the last fix, so that they do not depend on the start of reading.
 */
const SLOT_MS = 500
/** Longer than a course is open: a cart that stays outside overnight is not on a round the next morning. */
export const LONGEST_MS = 16 * HOUR_MS

/** Round that may continue: while the cart may be driving through parking, the end is not final. */
interface OpenRound {
  id: string
  startedMs: number
  endedMs: number | null
  /** Length of the round once it has ended. */
  endM: number
  play: PlayedHoles
}

/** State of a cart and its rounds: JSON, with which a finder can continue. */
export interface RoundState {
  watch: WatchState
  /** Device that determines the position, its newest counted fix, and the fix before. */
  speaker: RoundDevice | null
  lastMs: number | null
  previousMs: number | null
  /** Distance since the start of the current or last round. */
  mileage: Mileage | null
  /** Mileage at the fix before the last, at which zones are left and entered. */
  previousM: number
  /** `over` is out after the round was ended by time. */
  place: 'unknown' | 'parked' | 'out' | 'over'
  open: OpenRound | null
}

/** Fixes of one device in columns; times strictly ascending. */
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
 * Finds the rounds of a cart in the chronological fixes of its devices. A round begins when the cart leaves parking, or
 * at the first fix outside, and ends when it returns; it needs at least one hole. Zone entries and exits follow the
 * rules of zone events (`#shared/zones/watch`). The result is the same for any division of the fixes into calls.
 */
export class RoundFinder {
  readonly #roundZones: RoundZones
  readonly #state: RoundState
  /** Zone states in which another fix changes only the mileage; null if it may change more. */
  #settled: readonly ZoneState[] | null = null
  /** Area around the last fix; null if unknown. */
  #spot: UnchangedArea | null = null
  #ended: Round[] = []

  constructor(roundZones: RoundZones, state: RoundState = UNSEEN) {
    this.#roundZones = roundZones
    this.#state = { ...state }
  }

  /** State to continue from; must not be modified. */
  get state(): RoundState {
    return { ...this.#state }
  }

  /** Time since which it is parked, if nothing before the first fix here affects later results; else null. */
  get atRestSinceMs(): number | null {
    const {
      place,
      open,
      lastMs,
      watch: { zones },
    } = this.#state
    if (place !== 'parked' || open !== null) return null
    const isParking = ({ id, isInside }: (typeof zones)[number]) => isInside && this.#roundZones.holeOf.get(id) === null
    const sinceMs = Math.min(...zones.filter(isParking).map((zone) => zone.sinceMs ?? 0))
    return (lastMs ?? 0) - sinceMs >= PARKED_MS ? sinceMs : null
  }

  /** Returns the rounds that have finally ended since the last call, in chronological order. */
  takeEnded(): Round[] {
    const ended = this.#ended
    this.#ended = []
    return ended
  }

  /** Returns the current or just ended round as of `nowMs`; null without one that has a hole. */
  roundAt(nowMs: number): Round | null {
    const { open, lastMs, mileage } = this.#state
    if (open === null || lastMs === null) return null
    const overMs =
      nowMs - lastMs > MAX_FIX_GAP_MS ? lastMs : nowMs - open.startedMs >= LONGEST_MS ? endByTime(open) : null
    const shown = open.endedMs === null && overMs !== null ? endAt(open, overMs, mileage?.totalM ?? 0) : open
    return toRound(shown, mileage?.totalM ?? 0)
  }

  /** True if a fix at this time is too close to the last counted one to matter. */
  isDense(atMs: number): boolean {
    const { lastMs } = this.#state
    return lastMs !== null && atMs > lastMs && isSameSlot(atMs, lastMs)
  }

  /**
   * Processes the next fix. Returns `late` if it belongs before others: rounds must then be found again from all stored
   * fixes. Returns `left out` if it does not matter: another device has the position, or it is too dense.
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
    if (this.#roundZones.hasParking) this.#evaluate(fix)
    return 'taken'
  }

  /**
   * Processes consecutive fixes of a device from index `from`, with the same result as `take`, while they are before
   * `untilMs`, have a position (0,0 is not one) and only show that the cart stands or drives within its current zones,
   * as nearly all do. Returns the index of the first fix that it did not process.
   */
  takeUnchanged(device: RoundDevice, { atMs, latE7, longE7 }: FixColumns, from: number, untilMs: number): number {
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
        spot = UnchangedArea.draw(this.#roundZones.watched, zones, last, fixAt(at))
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

  /** Evaluates the position of the cart at this fix, and the effect on its round. */
  #evaluate(fix: Fix): void {
    const state = this.#state
    const before = state.watch
    state.watch = watch(before, this.#roundZones.watched, fix).state
    this.#endInTime(fix.atMs)
    const { zones } = state.watch
    if (zones === this.#settled) return
    const { parkedMs, holes } = this.#presence(fix)
    if (parkedMs === null) this.#drive(before, holes, fix)
    else this.#park(parkedMs, fix.atMs)
    this.#settled = this.#isSettled(holes) ? zones : null
  }

  /** True if the round stays unchanged while the cart stays in the zones of these holes. */
  #isSettled(holes: readonly HolePresence[]): boolean {
    const { open, place } = this.#state
    if (open === null) return true
    // a cart in parking may still be driving through
    return place !== 'parked' && isKept(open.play, sinceStart(holes, open), this.#roundZones)
  }

  /** Processes a fix outside parking, in the zones of these holes. */
  #drive(before: WatchState, holes: readonly HolePresence[], fix: Fix): void {
    const state = this.#state
    if (state.place === 'unknown') this.#begin(fix, fix)
    else if (state.place === 'parked') this.#leave(this.#leftAt(before, null, fix), fix)
    const { open } = state
    if (open === null || open.endedMs !== null) return
    const inside = sinceStart(holes, open)
    const current = currentHole(open.play)
    const { atMs: leftMs } = current === undefined ? fix : this.#leftAt(before, current, fix)
    const play = playOn(open.play, inside, { atMs: fix.atMs, leftMs }, this.#roundZones)
    if (play !== open.play) state.open = { ...open, play }
  }

  /** Returns the time since which the cart is in parking, and the holes whose zones contain it. */
  #presence(fix: Fix): { parkedMs: number | null; holes: HolePresence[] } {
    let parkedMs: number | null = null
    const holes: HolePresence[] = []
    for (const { id, isInside, sinceMs = fix.atMs } of this.#state.watch.zones) {
      if (!isInside) continue
      const hole = this.#roundZones.holeOf.get(id) ?? null
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

  /** First fix outside a zone that contained the cart, of a hole or of parking (null); this second fix confirms it. */
  #leftAt(before: WatchState, hole: number | null, fix: Fix): Fix {
    for (const { id, isInside, turnedAt } of before.zones)
      if (isInside && turnedAt !== undefined && this.#roundZones.holeOf.get(id) === hole) return turnedAt
    return fix
  }

  #begin(from: Fix, fix: Fix): void {
    const state = this.#state
    const { atMs: startedMs } = from
    const id = `${state.speaker?.hardwareId}-${startedMs.toString(36)}`
    state.place = 'out'
    // from here on the result does not depend on earlier state
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

  /** Discards the known state after a gap that is too long. */
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

function currentHole({ holes, visit }: PlayedHoles): number | undefined {
  return visit === null ? undefined : holes[visit.index]?.hole
}

function isSameSlot(atMs: number, lastMs: number): boolean {
  return Math.floor(atMs / SLOT_MS) === Math.floor(lastMs / SLOT_MS)
}

/** Limits the presence on holes to the time since the start of the round. */
function sinceStart(holes: readonly HolePresence[], { startedMs }: OpenRound): HolePresence[] {
  return holes.map(({ hole, sinceMs }) => ({ hole, sinceMs: Math.max(sinceMs, startedMs) }))
}

function endByTime({ startedMs }: OpenRound): number {
  return startedMs + LONGEST_MS
}

function endAt(open: OpenRound, endedMs: number, endM: number): OpenRound {
  return { ...open, endedMs, endM, play: leaveHole(open.play, endedMs) }
}

/** Returns null for a round without a hole. */
function toRound({ id, startedMs, endedMs, endM, play }: OpenRound, nowM: number): Round | null {
  const { holes } = play
  if (holes.length === 0) return null
  return { id, startedMs, endedMs, holes, distanceM: endedMs === null ? nowM : endM }
}
