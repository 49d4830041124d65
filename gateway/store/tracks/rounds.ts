import { LONGEST_MS, MAX_FIX_GAP_MS, RoundFinder, type RoundState } from '#shared/rounds/finder.ts'
import type { Round, RoundDevice } from '#shared/rounds/round.ts'
import { roundZonesOf } from '#shared/rounds/round-zones.ts'
import { GPS, type GpsRecords } from '#shared/telemetry/records.ts'
import { DAY_MS } from '#shared/time.ts'
import type { Zone } from '#shared/zones/zone.ts'
import type { TimeRange } from '../telemetry/reader.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'

export interface StoredRoundDevice extends RoundDevice {
  deviceId: number
}

/** Current cart: its history is that of the devices that are in it now, evaluated with its current zones. */
export interface RoundsCart {
  devices: readonly StoredRoundDevice[]
  zones: readonly Zone[]
  /** Later records are ignored as errors of a clock. */
  latestMs: number
}

/** Rounds that began in a range: the first `most` of them, by time. */
export interface RoundsQuery extends RoundsCart, TimeRange {
  most: number
  /** Time at which an unfinished round is evaluated. */
  nowMs: number
}

/** Current state of a cart's rounds; `endedFromMs` asks for those that have ended since. */
export interface RoundStateQuery extends RoundsCart {
  endedFromMs?: number
}

/** State of a cart's rounds, with the time of the newest fix of each of its devices. */
export interface KnownRounds {
  state: RoundState
  /** Rounds that have ended since the time that was asked for. */
  ended: readonly Round[]
  newestMs: Record<string, number>
}

/** Earlier fixes of a cart have no effect: a round ends after this time, and the state is reset after such a gap. */
const LOOKBACK_MS = LONGEST_MS + MAX_FIX_GAP_MS
/** The last fixes of a cart nearly always show that it is parked, so that no earlier ones are needed. */
const LAST_FIXES = 30
/** Range of fixes in memory at a time: two megabytes for each device at one a second. */
const WINDOW_MS = DAY_MS

/** Rounds of a cart that began in the range, by time. One that is unfinished at its end is followed beyond it. */
export function findRounds(tools: ReaderTools, query: RoundsQuery): Round[] {
  const { fromMs, latestMs, most, nowMs } = query
  const toMs = Math.min(query.toMs, latestMs)
  const { finder } = finderBefore(tools, query, fromMs)
  finder.takeEnded()
  const found: Round[] = []
  const isWanted = ({ startedMs }: Round) => startedMs >= fromMs && startedMs <= toMs
  walk(tools, query.devices, { fromMs, toMs }, finder, () => {
    found.push(...finder.takeEnded().filter(isWanted))
    return found.length < most
  })
  if (found.length >= most) return found.slice(0, most)
  const { open } = finder.state
  if (open === null || open.startedMs < fromMs) return found
  const endMs = Math.min(latestMs, open.startedMs + LOOKBACK_MS)
  walk(tools, query.devices, { fromMs: toMs + 1, toMs: endMs }, finder, () => finder.state.open?.id === open.id)
  const last = finder.roundAt(nowMs)
  return [...found, ...finder.takeEnded(), ...(last === null ? [] : [last])].filter(isWanted)
}

/** Current state of a cart's rounds, from all stored records. */
export function readRoundState(tools: ReaderTools, query: RoundStateQuery): KnownRounds {
  const { endedFromMs = Number.POSITIVE_INFINITY } = query
  const { finder, newestMs } = finderBefore(tools, query, query.latestMs + 1, endedFromMs)
  const ended = finder.takeEnded().filter(({ endedMs }) => (endedMs ?? 0) >= endedFromMs)
  return { state: finder.state, ended, newestMs }
}

/** Finder that has processed the fixes before a time, and all that matter for rounds that ended since `endedFromMs`. */
function finderBefore(
  tools: ReaderTools,
  { devices, zones }: RoundsCart,
  beforeMs: number,
  endedFromMs = Number.POSITIVE_INFINITY,
): { finder: RoundFinder; newestMs: Record<string, number> } {
  const roundZones = roundZonesOf(zones)
  const pages = devices.map(({ deviceId }) =>
    tools.telemetry.page(GPS, deviceId, {
      fromMs: 0,
      toMs: beforeMs - 1,
      order: 'desc',
      limit: LAST_FIXES,
    }),
  )
  const newest = pages.map(({ atMs }) => atMs.at(-1) ?? 0)
  const newestMs = Object.fromEntries(devices.map(({ hardwareId }, i) => [hardwareId, newest[i] ?? 0]))
  const finder = new RoundFinder(roundZones)
  feed(devices, pages, finder)
  const isAll = pages.every(({ atMs }) => atMs.length < LAST_FIXES)
  const { atRestSinceMs } = finder
  if (isAll || (atRestSinceMs !== null && atRestSinceMs <= endedFromMs)) return { finder, newestMs }
  const whole = new RoundFinder(roundZones)
  const toMs = Math.max(...newest)
  walk(tools, devices, { fromMs: Math.max(0, Math.min(toMs, endedFromMs) - LOOKBACK_MS), toMs }, whole)
  return { finder: whole, newestMs }
}

/** Feeds the stored fixes of a range, one window at a time, until `goesOn` returns false. */
function walk(
  { telemetry }: ReaderTools,
  devices: readonly StoredRoundDevice[],
  { fromMs, toMs }: TimeRange,
  finder: RoundFinder,
  goesOn: () => boolean = () => true,
): void {
  for (let atMs = fromMs; atMs <= toMs; atMs += WINDOW_MS) {
    const window = { fromMs: atMs, toMs: Math.min(toMs, atMs + WINDOW_MS - 1) }
    const tracks = devices.map(({ deviceId }) => {
      const { records, count } = telemetry.read(GPS, deviceId, window, GPS.allocate)
      return GPS.view(records, 0, count)
    })
    feed(devices, tracks, finder)
    if (!goesOn()) return
  }
}

/** Feeds fixes of several devices by time; of equal times, that of the lock first. */
function feed(devices: readonly StoredRoundDevice[], tracks: readonly GpsRecords[], finder: RoundFinder): void {
  const next = tracks.map(() => 0)
  const nextMs = (i: number) => tracks[i]?.atMs[next[i] ?? 0] ?? Number.POSITIVE_INFINITY
  for (;;) {
    let first = -1
    let firstMs = Number.POSITIVE_INFINITY
    let secondMs = Number.POSITIVE_INFINITY
    for (let i = 0; i < tracks.length; i++) {
      const ms = nextMs(i)
      if (ms < firstMs || (ms === firstMs && ms < Number.POSITIVE_INFINITY && devices[i]?.isLock)) {
        secondMs = firstMs
        first = i
        firstMs = ms
      } else secondMs = Math.min(secondMs, ms)
    }
    const [device, track] = [devices[first], tracks[first]]
    if (device === undefined || track === undefined) return
    const from = next[first] ?? 0
    const at = finder.takeUnchanged(device, track, from, secondMs)
    next[first] = at
    if (at > from) continue
    next[first] = at + 1
    const [latE7, longE7] = [track.latE7[at] ?? 0, track.longE7[at] ?? 0]
    // 0,0 is reported by a receiver without a fix
    if (latE7 !== 0 || longE7 !== 0) finder.take(device, { atMs: firstMs, latE7, longE7 })
  }
}
