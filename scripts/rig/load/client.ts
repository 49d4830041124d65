import { acknowledgement, DISCONNECT, PACKET, publishPacket, subscribeAllPacket } from '#testing/mqtt-packets.ts'
import { type BenchDevice, loginOf } from '../gateway-api.ts'
import { MessageWindow } from './message-window.ts'
import type { LoadMeter } from './meter.ts'
import { FLEET, MqttSocket } from './mqtt-socket.ts'
import { TelemetryPackets } from './telemetry-packets.ts'

export interface LoadClientSettings extends BenchDevice {
  port: number
  /** Lane it drives on; without it the lane of all others. */
  lane?: number
  /** Connects with a last will, subscriptions and an `st` message. */
  asDevice: boolean
  /** Maximum number of unacknowledged messages. */
  window: number
  notBeforeMs: number
  keepsJournal: boolean
}

const STATUS_PACKET_ID = 65535
const SUBSCRIBE_PACKET_ID = 65534
const RECONNECT_MIN_MS = 100
const RECONNECT_SPREAD_MS = 200

/** Device under load: publishes, counts PUBACKs, reconnects and repeats unacknowledged messages, as a real one does. */
export class LoadClient {
  /** Called when the session is established, the first time and after every outage. */
  onReady: (() => void) | null = null
  /** Called when an acknowledgement freed a slot. */
  onAcknowledged: (() => void) | null = null
  /** Called when the broker refuses the first connection. */
  onRefused: ((error: Error) => void) | null = null

  /** Times of the acknowledged samples, if a journal is kept. */
  readonly journal: number[] = []
  readonly hardwareId: string
  readonly #settings: LoadClientSettings
  readonly #meter: LoadMeter
  readonly #packets: TelemetryPackets
  readonly #window: MessageWindow
  #socket: MqttSocket | undefined
  #isReady = false
  #wasReady = false
  #isClosing = false
  #newestSampleMs: number
  #chunkAtMs = 0

  constructor(settings: LoadClientSettings, meter: LoadMeter) {
    this.hardwareId = settings.hardwareId
    this.#settings = settings
    this.#meter = meter
    this.#packets = new TelemetryPackets(settings.hardwareId, settings.window, settings.lane)
    this.#window = new MessageWindow(settings.window)
    this.#newestSampleMs = settings.notBeforeMs - 1
  }

  get isReady(): boolean {
    return this.#isReady
  }

  get free(): number {
    return this.#window.free
  }

  get unacknowledged(): number {
    return this.#window.unacknowledged
  }

  connect(): void {
    const listener = {
      arrived: () => {
        this.#chunkAtMs = performance.now()
      },
      connack: (returnCode: number) => this.#onConnack(returnCode),
      puback: (packetId: number) => this.#onPuback(packetId),
      suback: (returnCodes: Uint8Array) => this.#onSuback(returnCodes),
      publish: (packetId: number) => {
        if (packetId !== 0) this.#socket?.write(acknowledgement(PACKET.puback, packetId))
      },
      // After the first session a lost connection is part of the test, and 'closed' follows.
      failed: (error: Error) => {
        if (!this.#wasReady) this.#refuse(error)
      },
      closed: () => this.#onClosed(),
    }
    this.#socket = new MqttSocket(this.#settings.port, this.#connectFields(), listener, FLEET)
  }

  /** Makes `count` messages that were due at `dueAtMs` (performance.now) and sends them if possible. */
  publish(count: number, dueAtMs: number): void {
    const made = Math.min(count, this.#window.free)
    this.#meter.skipped += count - made
    const nowMs = Date.now()
    for (let i = 0; i < made; i++) {
      const slot = this.#window.make()
      // A device has one sample per millisecond at most: (device, time) is the sample's identity.
      this.#newestSampleMs = Math.max(nowMs, this.#newestSampleMs + 1)
      this.#packets.stamp(slot, this.#newestSampleMs)
      this.#window.sampleMs[slot] = this.#newestSampleMs
      this.#window.dueAtMs[slot] = dueAtMs
    }
    if (this.#newestSampleMs > this.#meter.newestSampleMs) {
      this.#meter.newestSampleMs = this.#newestSampleMs
    }
    if (this.#isReady) this.#sendUnsent()
  }

  /** Records unacknowledged messages with the time they have waited so far. */
  recordWaiting(): void {
    const nowMs = performance.now()
    this.#window.forEachToRepeat((slot) => {
      const { dueAtMs, writtenAtMs } = this.#window
      this.#meter.recordWaited(nowMs, dueAtMs[slot] ?? nowMs, writtenAtMs[slot] ?? nowMs)
    })
  }

  close(): void {
    this.#isClosing = true
    this.#socket?.end(DISCONNECT)
  }

  #connectFields() {
    const { hardwareId, asDevice } = this.#settings
    const fields = { ...loginOf(this.#settings), keepaliveS: 120 }
    if (!asDevice) return { ...fields, clean: true }
    const will = { topic: `dev/${hardwareId}/st`, payload: '{"online":false}' }
    return { ...fields, clean: false, will }
  }

  #onConnack(returnCode: number): void {
    if (returnCode !== 0) {
      if (!this.#wasReady) this.#refuse(new Error(`${this.hardwareId}: CONNACK ${returnCode}`))
      this.#socket?.cut()
      return
    }
    if (this.#settings.asDevice) this.#startDeviceSession()
    else this.#becomeReady()
  }

  #refuse(error: Error): void {
    this.#isClosing = true
    this.onRefused?.(error)
  }

  #startDeviceSession(): void {
    const filters = ['cmd', 'cfg', 'ta'].map((leaf) => `dev/${this.hardwareId}/${leaf}`)
    this.#socket?.write(subscribeAllPacket(filters, 1, SUBSCRIBE_PACKET_ID))
    const status = publishPacket(
      `dev/${this.hardwareId}/st`,
      '{"online":true,"fw":"1.4.2","type":"teebox","boot":17}',
      { id: STATUS_PACKET_ID, isRetained: true },
    )
    this.#socket?.write(status)
  }

  #onSuback(returnCodes: Uint8Array): void {
    this.#meter.refusedSubscriptions += returnCodes.filter((code) => code >= 0x80).length
    this.#becomeReady()
  }

  #becomeReady(): void {
    if (this.#wasReady) this.#meter.reconnects++
    this.#isReady = true
    this.#wasReady = true
    this.#repeatUnacknowledged()
    this.#sendUnsent()
    this.onReady?.()
  }

  #repeatUnacknowledged(): void {
    this.#window.forEachToRepeat((slot) => {
      this.#packets.markRepeated(slot)
      this.#window.writtenAtMs[slot] = performance.now()
      this.#meter.resent++
      this.#socket?.write(this.#packets.bytes(slot, 1))
    })
  }

  #sendUnsent(): void {
    const nowMs = performance.now()
    while (this.#window.unsent > 0) {
      const first = this.#window.nextToSend
      const count = Math.min(this.#window.unsent, this.#window.slots - first)
      for (let slot = first; slot < first + count; slot++) {
        this.#window.writtenAtMs[slot] = nowMs
      }
      this.#window.markSent(count)
      this.#meter.sent += count
      this.#socket?.write(this.#packets.bytes(first, count))
    }
  }

  #onPuback(packetId: number): void {
    if (packetId !== STATUS_PACKET_ID) this.#release(packetId - 1)
  }

  #release(slot: number): void {
    const window = this.#window
    if (!window.acknowledge(slot)) return
    const dueAtMs = window.dueAtMs[slot] ?? 0
    const writtenAtMs = window.writtenAtMs[slot] ?? 0
    this.#meter.recordAcknowledged(this.#chunkAtMs, dueAtMs, writtenAtMs)
    if (this.#settings.keepsJournal) this.journal.push(window.sampleMs[slot] ?? 0)
    this.onAcknowledged?.()
  }

  #onClosed(): void {
    this.#socket = undefined
    this.#isReady = false
    if (this.#isClosing) return
    const delayMs = RECONNECT_MIN_MS + Math.random() * RECONNECT_SPREAD_MS
    setTimeout(() => this.connect(), delayMs)
  }
}
