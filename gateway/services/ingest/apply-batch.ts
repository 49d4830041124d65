import { newestEventMs } from '#domain/latest-state.ts'
import type { Sample } from '#domain/telemetry.ts'
import type { Move } from '#gateway/events.ts'
import { fromE7, fromMilli } from '#shared/geo.ts'
import { isNewer } from '#shared/time.ts'
import type { Fix } from '#shared/zones/watch.ts'
import { SAMPLE_NUMBERS } from '#store/telemetry/store-samples.ts'
import type { ReportedState } from '../fleet.ts'
import type { WatchedSet } from '../zones/sets.ts'
import { applySamples } from './apply-samples.ts'
import type { MessageBatch } from './message-batch.ts'
import { detectCrossing } from './zone-crossings.ts'

/**
 * Applies the readings of a message batch to a next state, one after the other, and records in the batch what will be
 * published. Usually every reading is new as a whole.
 */
export function applyBatch(draft: ReportedState, run: MessageBatch, watched: WatchedSet | null): void {
  const { device, receivedAtMs, latestMs } = run
  const { numbers } = run
  const last = run.samples.at(-1)
  if (last !== undefined && isAllNews(draft, run, last)) {
    run.moves = run.samples
    run.late = []
    Object.assign(draft.state.values, last.values)
    for (const key in last.values) draft.state.atMs[key] = last.atMs
    moveRecordsOn(draft, run, numbers)
  } else moveOnOneByOne(draft, run)
  const seen = detectCrossing(draft.watch, watched, device, watched === null ? [] : fixesOf(numbers), latestMs)
  run.crossings = seen.events
  draft.watch = seen.state
  if (device.asksForTime) draft.state.asksForTime = true
  draft.updatedAtMs = receivedAtMs
  draft.lastRespondedAtMs = receivedAtMs
}

/** True if every reading updates all of its values, all known before, so that the last one determines the state. */
function isAllNews({ state }: ReportedState, { samples, isInOrder }: MessageBatch, last: Sample): boolean {
  if (!isInOrder || (samples[0]?.atMs ?? 0) <= newestEventMs(state)) return false
  for (const key in last.values) if (!Object.hasOwn(state.atMs, key)) return false
  return samples.every(({ values }) => hasSameKeys(values, last.values))
}

function hasSameKeys(one: object, other: object): boolean {
  for (const key in one) if (!Object.hasOwn(other, key)) return false
  for (const key in other) if (!Object.hasOwn(one, key)) return false
  return true
}

function moveOnOneByOne(draft: ReportedState, run: MessageBatch): void {
  const moves: Move[] = []
  const late: number[] = []
  for (const [place, sample] of run.samples.entries()) {
    const moved = applySamples(draft, [sample], run.receivedAtMs, run.latestMs)
    moves.push(...moved.moves)
    if (moved.late.length > 0) late.push(place)
  }
  run.moves = moves
  run.late = late
}

/** Applies the newest records; readings are in increasing time. */
function moveRecordsOn(draft: ReportedState, { latestMs }: MessageBatch, numbers: Float64Array): void {
  let [hasGps, hasBattery] = [false, false]
  for (let at = numbers.length - SAMPLE_NUMBERS; at >= 0 && !(hasGps && hasBattery); at -= SAMPLE_NUMBERS) {
    const atMs = numbers[at + 1] ?? 0
    const latE7 = numbers[at + 2] ?? Number.NaN
    const speedMilliKmh = numbers[at + 4] ?? Number.NaN
    const voltageMv = numbers[at + 5] ?? Number.NaN
    if (!hasGps && !Number.isNaN(latE7)) {
      hasGps = true
      if (draft.gps === null || isNewer(atMs, draft.gps.atMs, latestMs)) {
        const speedKmh = Number.isNaN(speedMilliKmh) ? null : fromMilli(speedMilliKmh)
        draft.gps = { atMs, lat: fromE7(latE7), long: fromE7(numbers[at + 3] ?? 0), speedKmh }
      }
    }
    if (!hasBattery && !Number.isNaN(voltageMv)) {
      hasBattery = true
      if (draft.battery === null || isNewer(atMs, draft.battery.atMs, latestMs)) {
        draft.battery = { atMs, voltageV: fromMilli(voltageMv) }
      }
    }
  }
}

function* fixesOf(numbers: Float64Array): Iterable<Fix> {
  for (let at = 0; at < numbers.length; at += SAMPLE_NUMBERS) {
    const latE7 = numbers[at + 2] ?? Number.NaN
    if (!Number.isNaN(latE7)) yield { atMs: numbers[at + 1] ?? 0, latE7, longE7: numbers[at + 3] ?? 0 }
  }
}
