import { type BenchDevice, loginOf } from '../gateway-api.ts'
import { FLEET, MqttSocket } from './mqtt-socket.ts'
import { TelemetryPackets } from './telemetry-packets.ts'

/** Chunks of the window: while one half is being acknowledged, the other is being sent. */
const CHUNKS = 2

/** Shared counters of a generator's clients; times are `performance.now()`. */
export interface FullSpeedMeter {
  /** Arrival time of the bytes that are being read. */
  nowMs: number
  record(waitedMs: number): void
}

export interface FullSpeedSettings {
  port: number
  /** Maximum number of unacknowledged messages: an even number. */
  window: number
  /** Lower bound of the samples' times: the devices may have sent newer ones before. */
  notBeforeMs: number
}

/**
 * Device that sends as fast as it is acknowledged, cheaply: half a window is one write, and acknowledgements, which
 * arrive in message order [MQTT-4.6.0-2], are only counted. It does not reconnect.
 */
export class FullSpeedClient {
  readonly hardwareId: string
  readonly #device: BenchDevice
  readonly #settings: FullSpeedSettings
  readonly #meter: FullSpeedMeter
  readonly #packets: TelemetryPackets
  readonly #chunkMessages: number
  readonly #writtenAtMs = new Float64Array(CHUNKS)
  /** Time of the first sample of each chunk that was sent; the others follow at intervals of a millisecond. */
  readonly #firstSampleMs: number[] = []
  #socket: MqttSocket | undefined
  #isSending = false
  #isOpen = false
  #acknowledged = 0
  #newestSampleMs: number

  constructor(device: BenchDevice, lane: number, settings: FullSpeedSettings, meter: FullSpeedMeter) {
    this.hardwareId = device.hardwareId
    this.#device = device
    this.#settings = settings
    this.#meter = meter
    this.#packets = new TelemetryPackets(device.hardwareId, settings.window, lane)
    this.#chunkMessages = settings.window / CHUNKS
    this.#newestSampleMs = settings.notBeforeMs - 1
  }

  get acknowledged(): number {
    return this.#acknowledged
  }

  get sent(): number {
    return this.#firstSampleMs.length * this.#chunkMessages
  }

  get newestSampleMs(): number {
    return this.#newestSampleMs
  }

  /** True if no further acknowledgement will arrive. */
  get isDone(): boolean {
    return !this.#isOpen || this.#acknowledged === this.sent
  }

  /** Times of the acknowledged samples, in ms since 1970. */
  journal(): number[] {
    return Array.from({ length: this.#acknowledged }, (_, i) => {
      const first = this.#firstSampleMs[Math.floor(i / this.#chunkMessages)] ?? 0
      return first + (i % this.#chunkMessages)
    })
  }

  /** Rejects if the broker refuses the connection. */
  connect(): Promise<void> {
    const { hardwareId } = this
    const login = { ...loginOf(this.#device), clean: true, keepaliveS: 0 }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#socket = new MqttSocket(
      this.#settings.port,
      login,
      {
        connack: (returnCode) => {
          if (returnCode !== 0) return reject(new Error(`${hardwareId}: CONNACK ${returnCode}`))
          this.#isOpen = true
          resolve()
        },
        arrived: () => {
          this.#meter.nowMs = performance.now()
        },
        puback: (packetId) => this.#onPuback(packetId),
        failed: reject,
        closed: () => {
          this.#isOpen = false
          reject(new Error(`${hardwareId}: closed`))
        },
      },
      FLEET,
    )
    return promise
  }

  start(): void {
    this.#isSending = true
    for (let chunk = 0; chunk < CHUNKS; chunk++) this.#send(chunk)
  }

  /** Stops sending; messages in flight may still be acknowledged. */
  finish(): void {
    this.#isSending = false
  }

  cut(): void {
    this.#socket?.cut()
  }

  #send(chunk: number): void {
    const from = chunk * this.#chunkMessages
    const firstMs = Math.max(Date.now(), this.#newestSampleMs + 1)
    for (let i = 0; i < this.#chunkMessages; i++) this.#packets.stamp(from + i, firstMs + i)
    this.#newestSampleMs = firstMs + this.#chunkMessages - 1
    this.#firstSampleMs.push(firstMs)
    this.#writtenAtMs[chunk] = performance.now()
    this.#socket?.write(this.#packets.bytes(from, this.#chunkMessages))
  }

  #onPuback(packetId: number): void {
    const slot = this.#acknowledged % this.#settings.window
    if (packetId !== slot + 1) throw new Error(`${this.hardwareId}: PUBACK ${packetId} instead of ${slot + 1}`)
    const chunk = Math.floor(slot / this.#chunkMessages)
    this.#acknowledged++
    this.#meter.record(this.#meter.nowMs - (this.#writtenAtMs[chunk] ?? 0))
    if (this.#isSending && this.#acknowledged % this.#chunkMessages === 0) this.#send(chunk)
  }
}
