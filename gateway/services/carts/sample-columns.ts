import { type CartFix, speedBetween } from '#shared/carts/motion.ts'
import { fromMilli } from '#shared/geo.ts'
import { SAMPLE_NUMBERS } from '#store/telemetry/store-samples.ts'

/** Samples of one device in the columns of `AppendBatch.samples`, by time. */
export type SampleColumns = Float64Array

/**
 * Passes each fix after `last` to `take`, in increasing time, up to `untilMs`; computes speeds that the device did not
 * send, as for carts. Not a generator: that would take as long as the processing of each fix of a fleet.
 */
export function takeFixes(
  samples: readonly SampleColumns[],
  { last, untilMs }: { last: CartFix | null; untilMs: number },
  take: (fix: CartFix) => void,
): void {
  let before = last
  for (const numbers of samples) {
    for (let at = 0; at < numbers.length; at += SAMPLE_NUMBERS) {
      const atMs = numbers[at + 1] ?? 0
      const latE7 = numbers[at + 2] ?? Number.NaN
      if (Number.isNaN(latE7) || atMs > untilMs || (before !== null && atMs <= before.atMs)) continue
      const longE7 = numbers[at + 3] ?? 0
      const speed = numbers[at + 4] ?? Number.NaN
      // a literal, because copying another object for every fix of a fleet is several times slower
      const fix: CartFix = {
        atMs,
        latE7,
        longE7,
        speedKmh: Number.isNaN(speed) ? speedBetween(before, { atMs, latE7, longE7 }) : fromMilli(speed),
      }
      before = fix
      take(fix)
    }
  }
}

/** Yields the voltages from `fromMs` to `untilMs`. */
export function* voltagesIn(
  samples: readonly SampleColumns[],
  fromMs: number,
  untilMs: number,
): Iterable<{ atMs: number; voltageV: number }> {
  for (const numbers of samples) {
    for (let at = 0; at < numbers.length; at += SAMPLE_NUMBERS) {
      const atMs = numbers[at + 1] ?? 0
      const millivolts = numbers[at + 5] ?? Number.NaN
      if (!Number.isNaN(millivolts) && atMs >= fromMs && atMs <= untilMs)
        yield { atMs, voltageV: fromMilli(millivolts) }
    }
  }
}
