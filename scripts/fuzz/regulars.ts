import { setTimeout as sleep } from 'node:timers/promises'
import { connectAsync, type MqttClient } from 'mqtt'
import { WebSocket } from 'ws'
import { type GatewayApi, loginOf } from '#scripts/rig/gateway-api.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import type { Login } from './fuzz-case.ts'

export interface RegularsReport {
  sent: number
  worstPubackMs: number
  problems: string[]
}

const PERIOD_MS = 50
const PUBACK_LIMIT_MS = 5_000
const SETTLE_MS = 5_000

/** A device that publishes every 50 ms and a reader of `/realtime`, which are independent of the cases. */
export class Regulars {
  readonly #device: Login
  readonly #client: MqttClient
  readonly #reader: WebSocket
  readonly #sentMs: number[] = []
  readonly problems: string[] = []
  #receivedLive = 0
  #worstPubackMs = 0
  #isOver = false
  #publishing: Promise<void> = Promise.resolve()

  private constructor(device: Login, client: MqttClient, reader: WebSocket) {
    this.#device = device
    this.#client = client
    this.#reader = reader
    client.on('error', (error) => this.problems.push(`the device: ${error.message}`))
    client.on('close', () => this.#isOver || this.problems.push('the device was disconnected'))
    reader.on('error', (error) => this.problems.push(`the reader: ${error.message}`))
    reader.on('close', () => this.#isOver || this.problems.push('the reader was disconnected'))
    reader.on('message', (bytes) => {
      if (bytes.toString().includes('"device_data"')) this.#receivedLive++
    })
  }

  /** Connects both and begins to publish. */
  static async start(device: Login, mqttUrl: string, realtimeUrl: string): Promise<Regulars> {
    const { hardwareId } = device
    const client = await connectAsync(mqttUrl, { ...loginOf(device), reconnectPeriod: 0 })
    const reader = new WebSocket(realtimeUrl)
    await new Promise((resolve, reject) => {
      reader.once('error', reject)
      reader.once('open', () => reader.send(JSON.stringify({ type: 'subscribe', hardwareIds: [hardwareId] })))
      reader.once('message', resolve)
    })
    const regulars = new Regulars(device, client, reader)
    regulars.#publishing = regulars.#publish()
    return regulars
  }

  /** Stops publishing, compares the stored and received messages with the sent ones, and disconnects. */
  async stop(api: GatewayApi): Promise<RegularsReport> {
    this.#isOver = true
    await this.#publishing
    const sentMs = this.#sentMs
    const storedMs = await api.gpsTimes(this.#device.hardwareId, sentMs[0] ?? 0, sentMs.at(-1) ?? 0)
    const stored = new Set(storedMs)
    const isSame = storedMs.length === sentMs.length && sentMs.every((tsMs) => stored.has(tsMs))
    if (!isSame) this.problems.push(`${sentMs.length} samples acknowledged, ${storedMs.length} stored`)
    await waitUntil(() => this.#receivedLive >= sentMs.length, SETTLE_MS)
    if (this.#receivedLive !== sentMs.length)
      this.problems.push(`${sentMs.length} samples sent, ${this.#receivedLive} shown on /realtime`)
    this.#reader.terminate()
    await this.#client.endAsync(true)
    return { sent: sentMs.length, worstPubackMs: this.#worstPubackMs, problems: this.problems }
  }

  async #publish(): Promise<void> {
    const topic = `dev/${this.#device.hardwareId}/tlm`
    for (let startedAtMs = performance.now(); !this.#isOver && this.problems.length === 0; ) {
      const tsMs = Math.max(Date.now(), (this.#sentMs.at(-1) ?? 0) + 1)
      const payload = JSON.stringify({ ts: tsMs, lat: 36.5 + (tsMs % 1_000) / 10_000, long: -121.9 })
      const sentAtMs = performance.now()
      const outcome = await Promise.race([
        this.#client.publishAsync(topic, payload, { qos: 1 }).catch((error: Error) => error.message),
        sleep(PUBACK_LIMIT_MS, 'no PUBACK in 5 s', { ref: false }),
      ])
      if (typeof outcome === 'string') {
        this.problems.push(`the device: ${outcome}`)
        return
      }
      this.#sentMs.push(tsMs)
      this.#worstPubackMs = Math.max(this.#worstPubackMs, performance.now() - sentAtMs)
      startedAtMs = Math.max(startedAtMs + PERIOD_MS, performance.now() - PERIOD_MS)
      await sleep(Math.max(1, startedAtMs - performance.now()))
    }
  }
}
