import { DAY_MS, HOUR_MS, MINUTE_MS, systemClock, toIso } from '#shared/time.ts'
import type { TestGateway } from '#testing/start-gateway.ts'
import { PLACES, type Place, toLatLong } from './places.ts'

/** Yesterday's date on the course, which is at UTC in tests. */
export const YESTERDAY = toIso(systemClock.nowMs() - DAY_MS).slice(0, 10)
const MORNING_MS = Date.parse(YESTERDAY) + 8 * HOUR_MS

const STEP_MS = 5_000
const KMH = 15
const M_PER_MS = KMH / 3_600

interface Record {
  timestamp: string
}

/**
 * Gives a device yesterday's morning: in the barn from 8:00, away at 8:30 over the fairway to the green and back along
 * the course for an hour, and in the barn again.
 */
export async function seedMorning(gateway: TestGateway, hardwareId: string): Promise<void> {
  const gps: (Record & { lat: number; long: number; speed: number })[] = []
  const battery: (Record & { battery_voltage: number })[] = []
  let atMs = MORNING_MS
  const stand = (place: Place, minutes: number) => {
    const untilMs = atMs + minutes * MINUTE_MS
    for (; atMs < untilMs; atMs += MINUTE_MS) gps.push({ timestamp: toIso(atMs), ...toLatLong(place), speed: 0 })
  }
  const drive = (from: Place, to: Place) => {
    const [eastM, northM] = [to.eastM - from.eastM, to.northM - from.northM]
    const tookMs = Math.hypot(eastM, northM) / M_PER_MS
    for (let ms = 0; ms < tookMs; ms += STEP_MS, atMs += STEP_MS) {
      const share = ms / tookMs
      const place = { eastM: from.eastM + eastM * share, northM: from.northM + northM * share }
      gps.push({ timestamp: toIso(atMs), ...toLatLong(place), speed: KMH })
    }
  }
  const round: Place[] = [PLACES.fairway, PLACES.green, { eastM: 350, northM: 420 }, { eastM: 350, northM: 100 }]
  stand(PLACES.barn, 30)
  drive(PLACES.barn, PLACES.fairway)
  for (let lap = 0; lap < 3; lap++)
    for (const [i, place] of round.entries()) drive(place, round[(i + 1) % round.length] ?? place)
  drive(PLACES.fairway, PLACES.barn)
  stand(PLACES.barn, 30)
  for (let ms = MORNING_MS; ms < atMs; ms += MINUTE_MS)
    battery.push({ timestamp: toIso(ms), battery_voltage: 50.8 - (ms - MORNING_MS) / HOUR_MS })
  const path = `/devices/${hardwareId}/telemetry/import`
  const { status, body } = await gateway.request('POST', path, { body: { gps, battery } })
  if (status !== 200) throw new Error(`not imported: ${JSON.stringify(body)}`)
}
