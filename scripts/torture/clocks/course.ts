import type { MqttClient } from 'mqtt'
import { MAX_AHEAD_MS } from '#domain/event-time.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, toIso } from '#shared/time.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { type Kept, mayBeGone, type SentReading } from './readings.ts'

/** Where the truth begins. */
export const BEGIN_MS = Date.UTC(2026, 4, 1, 12)
const KEPT_DAYS = 60
/** A purge by an admin counts back from now, which may be so much ahead without a doubt. */
const UNCONFIRMED_MS = 31 * DAY_MS
/** What clocks that are right may be apart, and what goes by while devices send. */
const RIGHT_MS = 6 * MINUTE_MS

/** Before this there are only guesses of a gateway that has never known the time: it counts on from 2020. */
const FIRST_GUESS_END_MS = Date.UTC(2021, 0, 1)

/** What the gateway says of its clock. */
interface Said {
  gatewayMs: number
  doubt: string | null
}

/** Kinds of devices by how they know the time. */
export const DEVICES = ['satellite-1', 'satellite-2', 'without', 'uptime', 'told'] as const
export type DeviceId = (typeof DEVICES)[number]

/** What was found wrong at the end of a story. */
export interface Findings {
  acknowledged: number
  /** Neither stored nor in the quarantine, and not old. */
  missing: string[]
  /** Moments at which the gateway's time was wrong and it said nothing. */
  unsaid: string[]
  inQuarantine: number
  /** Single readings that the gateway dated although they had a time: by its clock, that time was ahead. */
  redated: number
  /** Moments at which it said that its clock is in doubt. */
  doubts: number
}

/** A gateway in this process on a clock that can be set to anything, its devices, and the truth. */
export class ClockCourse {
  readonly system: FakeClock
  readonly #gateway: TestGateway
  readonly #isSynchronized: { now: boolean }
  readonly #clients = new Map<DeviceId, MqttClient>()
  readonly #passwords = new Map<DeviceId, string>()
  readonly #sent: SentReading[] = []
  readonly #purges: Kept['purges'][number][] = []
  readonly #unsaid: string[] = []
  #trueMs = BEGIN_MS
  #voltageMv = 0
  /**
   * How wrong the gateway has been since it took a time for right that could be; more it must not be without a word.
   */
  #excusedMs = 0
  #isJustStarted = true
  #said: Said | null = null
  #doubts = 0
  #redated = 0
  /** By how much the clock of the device that asks the gateway is off. */
  #toldOffMs: number | null = null

  private constructor(system: FakeClock, gateway: TestGateway, isSynchronized: { now: boolean }) {
    this.system = system
    this.#gateway = gateway
    this.#isSynchronized = isSynchronized
  }

  /** Starts with a system clock that is `offMs` off. */
  static async open(offMs: number): Promise<ClockCourse> {
    const system = new FakeClock(BEGIN_MS + offMs)
    const isSynchronized = { now: false }
    const settings = {
      CARTBARN_RETENTION_DAYS: String(KEPT_DAYS),
      CARTBARN_EVENT_RETENTION_DAYS: String(KEPT_DAYS),
    }
    const gateway = await startGateway(settings, {
      clock: system,
      isTimeSynchronized: () => isSynchronized.now,
    })
    return new ClockCourse(system, gateway, isSynchronized)
  }

  close(): Promise<void> {
    return this.#gateway.stop()
  }

  get trueMs(): number {
    return this.#trueMs
  }

  /** Time goes by, in truth and by all clocks. */
  passTime(ms: number): void {
    this.#trueMs += ms
    this.system.advance(ms)
  }

  /** Somebody sets the system clock. */
  setClock(offMs: number): void {
    this.#isSynchronized.now = false
    this.system.set(this.#trueMs + offMs)
  }

  /** The operating system sets its clock, and knows that it is right. */
  synchronize(): void {
    this.setClock(0)
    this.#isSynchronized.now = true
  }

  /** A stop, and a start `offlineMs` later with a system clock that shows `showsMs` then. */
  async restart(offlineMs: number, showsMs: (system: FakeClock, trueMs: number) => number): Promise<void> {
    this.#clients.clear()
    this.#isSynchronized.now = false
    await this.#gateway.restart(() => {
      this.passTime(offlineMs)
      this.system.set(showsMs(this.system, this.#trueMs))
    })
    this.#isJustStarted = true
  }

  /** An admin tells the gateway what time it is. */
  async confirm(): Promise<void> {
    const body = { time: toIso(this.#trueMs) }
    const { status } = await this.#gateway.request('POST', '/clock/confirm', { body })
    if (status !== 200 && status !== 409) throw new Error(`confirming the clock: ${status}`)
    if (status === 200) this.#excusedMs = 0
  }

  async purge(days: number): Promise<void> {
    const body = { older_than_days: days }
    const { status } = await this.#gateway.request('POST', '/telemetry/purge', { body })
    if (status === 200) this.#purges.push({ atMs: this.#trueMs, olderThanMs: days * DAY_MS - UNCONFIRMED_MS })
    else if (status !== 409) throw new Error(`a purge: ${status}`)
  }

  /** Deletes all that a device sent, as nothing should. */
  async remove(device: DeviceId): Promise<void> {
    await this.#gateway.request('DELETE', `/devices/${device}/telemetry`)
  }

  runRetention(): Promise<void> {
    return this.#gateway.runRetention()
  }

  /** Notes it if the gateway's time is wrong, could be known to be, and the gateway says nothing. */
  async look(what: string): Promise<void> {
    const said = await this.#ask()
    const { gatewayMs, doubt } = said
    const wrongMs = gatewayMs - this.#trueMs
    if (doubt !== null) this.#doubts++
    const isFirstTime = this.#isJustStarted || this.#said?.doubt === 'not_set'
    if (doubt === null && isFirstTime) this.#excusedMs = this.#couldBe(gatewayMs) ? wrongMs : 0
    if (this.#isSynchronized.now) this.#excusedMs = 0
    this.#isJustStarted = false
    this.#said = said
    const isRight = Math.min(Math.abs(wrongMs), Math.abs(wrongMs - this.#excusedMs)) <= RIGHT_MS
    if (!isRight && doubt === null) this.#unsaid.push(`${what}: ${toIso(gatewayMs)} for ${toIso(this.#trueMs)}`)
    const isShown = doubt === null ? 0 : 1
    const { body } = await this.#gateway.request('GET', '/metrics')
    if (!new RegExp(`^cartbarn_clock_doubted ${isShown}$`, 'm').test(body))
      this.#unsaid.push(`${what}: the metric differs from /health`)
  }

  /** `count` readings of each device in one message, the first from `spanMs` ago, as after an outage. */
  async send(devices: readonly DeviceId[], count: number, spanMs: number): Promise<void> {
    for (const device of devices) {
      const client = await this.#connect(device)
      if (device === 'told') await this.#askForTime(client)
      // without any time only what was measured just now can be told
      const canWait = device !== 'without' && !(device === 'told' && this.#toldOffMs === null)
      await this.#sendOf(device, client, canWait ? count : 1, spanMs)
    }
  }

  async findings(): Promise<Findings> {
    const kept = { byRetentionMs: KEPT_DAYS * DAY_MS, purges: this.#purges }
    const quarantined = await this.#quarantined()
    const missing: string[] = []
    for (const hardwareId of DEVICES) {
      const sent = this.#sent.filter((reading) => reading.hardwareId === hardwareId)
      if (sent.length === 0) continue
      const stored = await this.#stored(hardwareId)
      for (const reading of sent) {
        const key = `${hardwareId}/${reading.voltageMv}`
        if (stored.has(reading.voltageMv) || quarantined.has(key)) continue
        if (!mayBeGone(reading, this.#trueMs, kept))
          missing.push(`${key} of ${toIso(reading.trueMs)}, sent with ${describeTime(reading.saidMs)}`)
      }
    }
    return {
      acknowledged: this.#sent.length,
      missing,
      unsaid: this.#unsaid,
      inQuarantine: quarantined.size,
      redated: this.#redated,
      doubts: this.#doubts,
    }
  }

  /** Whether a time after a start may be right, for all that the gateway can know: it was switched off until then. */
  #couldBe(gatewayMs: number): boolean {
    if (this.#said === null || this.#said.gatewayMs < FIRST_GUESS_END_MS) return true
    const afterMs = gatewayMs - this.#said.gatewayMs
    return afterMs >= -RIGHT_MS && afterMs <= UNCONFIRMED_MS + RIGHT_MS
  }

  async #ask(): Promise<Said> {
    const { body } = await this.#gateway.request('GET', '/health')
    return { gatewayMs: Date.parse(body.timestamp), doubt: body.clock_doubt ?? null }
  }

  async #sendOf(device: DeviceId, client: MqttClient, count: number, spanMs: number): Promise<void> {
    const { gatewayMs, doubt } = await this.#ask()
    const readings = Array.from({ length: count }, (_, i) => ({
      // no two at one moment, nor at moments that a jump of whole hours makes one
      trueMs: this.#trueMs - Math.round((spanMs * (count - 1 - i)) / count) - 7 * i,
      voltageMv: ++this.#voltageMv,
    }))
    const payload = this.#payload(device, readings)
    await client.publishAsync(`dev/${device}/tlm`, JSON.stringify(payload), { qos: 1 })
    for (const reading of readings) {
      const saidMs = this.#saidOf(device, reading)
      // of a single reading such a time is not believed: the gateway dates it
      const isRedated = count === 1 && doubt === null && saidMs !== null && saidMs > gatewayMs + MAX_AHEAD_MS
      if (isRedated) this.#redated++
      this.#sent.push({ ...reading, hardwareId: device, saidMs: isRedated ? null : saidMs, gatewayMs })
    }
    // the next device is never at the same millisecond
    this.passTime(1000 + (this.#voltageMv % 977))
  }

  /** A reading without a clock, or several of them as a device of this kind sends them. */
  #payload(device: DeviceId, readings: readonly { trueMs: number; voltageMv: number }[]): unknown {
    const one = (reading: { trueMs: number; voltageMv: number }) => {
      const ts = this.#saidOf(device, reading)
      return { ...(ts === null ? {} : { ts }), battery_voltage: reading.voltageMv / 1000 }
    }
    if (device === 'uptime') {
      const up = this.#trueMs - BEGIN_MS + 1000 * HOUR_MS
      const s = readings.map((reading) => ({
        up: up - (this.#trueMs - reading.trueMs),
        battery_voltage: reading.voltageMv / 1000,
      }))
      return { boot: 1, up, s }
    }
    const [first, ...others] = readings.map(one)
    return others.length === 0 ? first : [first, ...others]
  }

  /** What time the device gives a reading. */
  #saidOf(device: DeviceId, { trueMs }: { trueMs: number }): number | null {
    if (device === 'without' || device === 'uptime') return null
    if (device !== 'told') return trueMs
    return this.#toldOffMs === null ? null : trueMs + this.#toldOffMs
  }

  /** It keeps the time it was told last; it is told none while the clock is in doubt. */
  async #askForTime(client: MqttClient): Promise<void> {
    await client.subscribeAsync('dev/told/ta')
    const told = Promise.withResolvers<number>()
    const take = (_: string, payload: Buffer) => told.resolve(JSON.parse(payload.toString()).t)
    client.on('message', take)
    await client.publishAsync('dev/told/tq', '{"up":1}', { qos: 1 })
    // what it publishes now is acknowledged after the answer was sent
    await client.publishAsync('dev/told/st', '{"online":true,"type":"teebox"}', { qos: 1 })
    const t = await Promise.race([told.promise, new Promise<null>((done) => setImmediate(done, null))])
    client.off('message', take)
    if (t !== null) this.#toldOffMs = t - this.#trueMs
  }

  async #connect(device: DeviceId): Promise<MqttClient> {
    let client = this.#clients.get(device)
    if (client === undefined) {
      const password = this.#passwords.get(device) ?? (await this.#gateway.register(device))
      this.#passwords.set(device, password)
      client = await this.#gateway.connect(device, password)
      this.#clients.set(device, client)
    }
    return client
  }

  async #stored(hardwareId: string): Promise<Set<number>> {
    const { body } = await this.#gateway.request('GET', `/devices/${hardwareId}/battery?from=2000-01-01&to=2110-01-01`)
    const records: { battery_voltage: number }[] = body
    return new Set(records.map(({ battery_voltage }) => Math.round(battery_voltage * 1000)))
  }

  async #quarantined(): Promise<Set<string>> {
    const { body } = await this.#gateway.request('GET', '/mqtt/quarantine')
    const entries: { hardware_id: string; payload: string }[] = body
    const keys = entries.flatMap(({ hardware_id, payload }) => {
      const readings: { battery_voltage: number }[] = JSON.parse(Buffer.from(payload, 'base64').toString())
      return readings.map(({ battery_voltage }) => `${hardware_id}/${Math.round(battery_voltage * 1000)}`)
    })
    return new Set(keys)
  }
}

function describeTime(atMs: number | null): string {
  return atMs === null ? 'no time' : toIso(atMs)
}
