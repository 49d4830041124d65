import type { MqttClient } from 'mqtt'

export interface SentFix {
  atMs: number
  lat: number | null
  long: number | null
  speed: number | null
}

/** Readings in one message of a device. */
const BATCH = 500

/** Sends fixes of a device in the given order; resolves when they are stored. */
export async function sendTrack(client: MqttClient, hardwareId: string, fixes: readonly SentFix[]): Promise<void> {
  for (let at = 0; at < fixes.length; at += BATCH) {
    const samples = fixes.slice(at, at + BATCH).map(({ atMs, ...values }) => ({ ts: atMs, ...values }))
    await client.publishAsync(`dev/${hardwareId}/tlm`, JSON.stringify(samples), { qos: 1 })
  }
}
