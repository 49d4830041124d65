import type { FilledSample, Filling } from './fill.ts'

/** What a long history consists of: half GPS, half battery records. */
export interface LongHistory {
  /** The device with a record of each stream every five seconds. */
  hardwareId: string
  /** Of that device, in each stream. */
  records: number
  fromMs: number
  toMs: number
}

const GAP_MS = 5000
/** 1 May 2026. */
const FROM_MS = 1_777_593_600_000

/**
 * Describes a history: `records` of each stream for the first device and, between them, as many for all others
 * together. In the order of time, as devices send it. Positions go back and forth, in numbers as long as real ones.
 */
export function describeLongHistory(
  [first, ...others]: readonly string[],
  records: number,
): { history: LongHistory; filling: Filling } {
  if (first === undefined || others.length === 0) throw new Error('a history is of two devices at least')
  const toMs = FROM_MS + (records - 1) * GAP_MS
  return {
    history: { hardwareId: first, records, fromMs: FROM_MS, toMs },
    filling: (deviceIdOf) => samplesOf(deviceIdOf(first), others.map(deviceIdOf), records),
  }
}

function* samplesOf(
  first: number,
  others: readonly number[],
  records: number,
): Generator<FilledSample, void, void> {
  for (let tick = 0; tick < records; tick++) {
    const sample = {
      atMs: FROM_MS + tick * GAP_MS,
      latE7: 365_680_000 + ((tick * 37) % 90_000),
      longE7: -1_219_480_000 + ((tick * 53) % 90_000),
      speedMilliKmh: (tick * 7) % 24_000,
      voltageMv: 48_000 + ((tick * 11) % 6_000),
    }
    yield { ...sample, deviceId: first }
    yield { ...sample, deviceId: others[tick % others.length] ?? first }
  }
}
