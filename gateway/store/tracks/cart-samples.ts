import { BATTERY, GPS, NO_SPEED } from '#shared/telemetry/records.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'
import { SAMPLE_NUMBERS } from '../telemetry/store-samples.ts'

/** Query for samples of devices that are newer than the known ones; at most `limit` of each. */
export interface CartSamplesQuery {
  devices: readonly { deviceId: number; gpsAfterMs: number; batteryAfterMs: number }[]
  toMs: number
  limit: number
}

/** Samples of each device by time, in the columns of `AppendBatch.samples`; the newest if there are too many. */
export function readCartSamples(tools: ReaderTools, query: CartSamplesQuery): Float64Array<ArrayBuffer>[] {
  return query.devices.map((device) => samplesOf(tools, device, query))
}

function samplesOf(
  { telemetry }: ReaderTools,
  { deviceId, gpsAfterMs, batteryAfterMs }: CartSamplesQuery['devices'][number],
  { toMs, limit }: CartSamplesQuery,
): Float64Array<ArrayBuffer> {
  const newest = { toMs, limit, order: 'desc' } as const
  const gps = telemetry.page(GPS, deviceId, { ...newest, fromMs: gpsAfterMs + 1 })
  const battery = telemetry.page(BATTERY, deviceId, { ...newest, fromMs: batteryAfterMs + 1 })
  const [fixes, voltages] = [gps.atMs.length, battery.atMs.length]
  const numbers = new Float64Array((fixes + voltages) * SAMPLE_NUMBERS).fill(Number.NaN)
  let [fix, voltage] = [0, 0]
  for (let at = 0; at < numbers.length; at += SAMPLE_NUMBERS) {
    numbers[at] = deviceId
    const fixMs = gps.atMs[fix] ?? Number.POSITIVE_INFINITY
    const isFix = fix < fixes && (voltage >= voltages || fixMs <= (battery.atMs[voltage] ?? 0))
    if (isFix) {
      const speed = gps.speedMilliKmh[fix] ?? NO_SPEED
      numbers[at + 1] = fixMs
      numbers[at + 2] = gps.latE7[fix] ?? 0
      numbers[at + 3] = gps.longE7[fix] ?? 0
      if (speed !== NO_SPEED) numbers[at + 4] = speed
      fix++
    } else {
      numbers[at + 1] = battery.atMs[voltage] ?? 0
      numbers[at + 5] = battery.voltageMv[voltage] ?? 0
      voltage++
    }
  }
  return numbers
}
