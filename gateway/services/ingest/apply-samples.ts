import { copyState, mergeValues } from '#domain/latest-state.ts'
import type { Sample, Scalar } from '#domain/telemetry.ts'
import type { Move } from '#gateway/events.ts'
import { isNewer } from '#shared/time.ts'
import type { ReportedState } from '../fleet.ts'
import { LIVE_MS } from './zone-crossings.ts'

const NO_NEWS = { moves: [], late: [] } as const

/**
 * Applies the samples of one message to a next state, oldest first; late data never replaces a newer value. Returns the
 * new values to publish, and the indexes in `samples` of those that only go to history. Values use times shifted by
 * `shiftMs`, records the stored times.
 */
export function applySamples(
  draft: ReportedState,
  samples: readonly Sample[],
  receivedAtMs: number,
  latestMs: number,
  shiftMs = 0,
): { moves: readonly Move[]; late: readonly number[] } {
  if (samples.length === 0) return NO_NEWS
  const moves: Move[] = []
  const late: number[] = []
  const isFirst = isEmpty(draft.state.atMs)
  const moved = inTimeOrder(samples).map((i) => {
    const sample = samples[i]
    if (sample === undefined) throw new Error('no such sample')
    mergeRecords(draft, sample, latestMs)
    const atMs = sample.atMs + shiftMs
    // a known time after the receipt was a clock error
    const liveLatestMs = shiftMs === 0 ? latestMs : receivedAtMs
    return { i, atMs, values: mergeValues(draft.state, atMs, sample.values, liveLatestMs) }
  })
  for (const { i, atMs, values } of moved) {
    const isRecent = receivedAtMs - atMs <= LIVE_MS
    // of an upload of old readings only the final values are published; the rest is history
    const isNews = isRecent || (!isFirst && holdsNewest(draft, atMs, values))
    if (values !== null && isNews) moves.push({ atMs, values })
    else late.push(i)
  }
  return { moves, late }
}

const ONE_SAMPLE: readonly number[] = [0]

/** Returns indexes of `samples` by time. */
function inTimeOrder(samples: readonly Sample[]): readonly number[] {
  if (samples.length === 1) return ONE_SAMPLE
  return samples.map((_, i) => i).sort((a, b) => (samples[a]?.atMs ?? 0) - (samples[b]?.atMs ?? 0))
}

function isEmpty(record: Record<string, unknown>): boolean {
  for (const _ in record) return false
  return true
}

/** Returns a copy that can be changed, and is dropped if its transaction fails. */
export function copyReported(reported: ReportedState): ReportedState {
  return { ...reported, state: copyState(reported.state) }
}

function mergeRecords(draft: ReportedState, sample: Sample, latestMs: number): void {
  const { atMs, lat, long, speedKmh, voltageV } = sample
  if (!Number.isNaN(lat) && (draft.gps === null || isNewer(atMs, draft.gps.atMs, latestMs))) {
    draft.gps = { atMs, lat, long, speedKmh: Number.isNaN(speedKmh) ? null : speedKmh }
  }
  if (!Number.isNaN(voltageV) && (draft.battery === null || isNewer(atMs, draft.battery.atMs, latestMs))) {
    draft.battery = { atMs, voltageV }
  }
}

function holdsNewest(draft: ReportedState, atMs: number, values: Record<string, Scalar> | null): boolean {
  return values !== null && Object.keys(values).some((key) => draft.state.atMs[key] === atMs)
}
