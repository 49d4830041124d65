import type { MqttClient } from 'mqtt'
import { MINUTE_MS } from '#shared/time.ts'

export interface SentFix {
  atMs: number
  lat: number | null
  long: number | null
  speed: number | null
}

/** Readings in one message of a device. */
const BATCH = 500
const STEP_MS = 30_000

/** Fixes of a cart that stands at these latitudes, each for a number of minutes, every 30 s up to a time. */
export function trackUntil(untilMs: number, ...legs: readonly (readonly [lat: number, minutes: number])[]): SentFix[] {
  const fixes: SentFix[] = []
  let atMs = untilMs - legs.reduce((sum, [, minutes]) => sum + minutes, 0) * MINUTE_MS
  for (const [lat, minutes] of legs)
    for (const endMs = atMs + minutes * MINUTE_MS; atMs < endMs; atMs += STEP_MS)
      fixes.push({ atMs: atMs + STEP_MS, lat, long: 0.1, speed: 0 })
  return fixes
}

/** Sends fixes of a device in the given order; resolves when they are stored. */
export async function sendTrack(client: MqttClient, hardwareId: string, fixes: readonly SentFix[]): Promise<void> {
  for (let at = 0; at < fixes.length; at += BATCH) {
    const samples = fixes.slice(at, at + BATCH).map(({ atMs, ...values }) => ({ ts: atMs, ...values }))
    await client.publishAsync(`dev/${hardwareId}/tlm`, JSON.stringify(samples), { qos: 1 })
  }
}
