import type { MqttClient } from 'mqtt'
import { MAX_AHEAD_MS } from '#domain/event-time.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, toIso } from '#shared/time.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { type Kept, mayBeGone, type SentReading } from './readings.ts'

/** True time at the start of a story. */
export const BEGIN_MS = Date.UTC(2026, 4, 1, 12)
const KEPT_DAYS = 60
/** Jump that a gateway accepts without a clock fault; the present that a purge counts back from may be off by it. */
const UNCONFIRMED_MS = 31 * DAY_MS
/** Difference between correct clocks, plus the time that passes while devices send. */
const RIGHT_MS = 6 * MINUTE_MS

/** End of the times that a gateway guesses before it has ever known the time: it counts on from 2020. */
const FIRST_GUESS_END_MS = Date.UTC(2021, 0, 1)

/** Time and clock fault as the gateway reports them. */
interface ReportedClock {
  gatewayMs: number
  doubt: string | null
}

/** Devices by their source of time. */
export const DEVICES = ['satellite-1', 'satellite-2', 'without', 'uptime', 'requesting'] as const
export type DeviceId = (typeof DEVICES)[number]

/** Faults found at the end of a story. */
export interface Findings {
  acknowledged: number
  /** Neither stored nor in the quarantine, and not old. */
  missing: string[]
  /** Moments at which the gateway's time was wrong without a reported fault. */
  unreported: string[]
  inQuarantine: number
  /** Single readings that the gateway dated although they had a time: by its clock, that time was ahead. */
  redated: number
  /** Moments at which it reported a clock fault. */
  doubts: number
}

/** A gateway in this process on a clock that can be set to anything, its devices, and the true time. */
export class ClockedGateway {
  readonly system: FakeClock
  readonly #gateway: TestGateway
  readonly #isSynchronized: { now: boolean }
  readonly #clients = new Map<DeviceId, MqttClient>()
  readonly #passwords = new Map<DeviceId, string>()
  readonly #sent: SentReading[] = []
  readonly #purges: Kept['purges'][number][] = []
  readonly #unreported: string[] = []
  #trueMs = BEGIN_MS
  #voltageMv = 0
  /** Error of the gateway's time when it last accepted a plausible but wrong time; a larger error must be reported. */
  #excusedMs = 0
  #isJustStarted = true
  #reported: ReportedClock | null = null
  #doubts = 0
  #redated = 0
  /** Error of the clock of the device that requests the time from the gateway; null before it has a time. */
  #receivedOffMs: number | null = null

  private constructor(system: FakeClock, gateway: TestGateway, isSynchronized: { now: boolean }) {
    this.system = system
    this.#gateway = gateway
    this.#isSynchronized = isSynchronized
  }

  /** Starts with a system clock that is `offMs` off. */
  static async open(offMs: number): Promise<ClockedGateway> {
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
    return new ClockedGateway(system, gateway, isSynchronized)
  }

  close(): Promise<void> {
    return this.#gateway.stop()
  }

  get trueMs(): number {
    return this.#trueMs
  }

  /** Advances the true time and all clocks. */
  passTime(ms: number): void {
    this.#trueMs += ms
    this.system.advance(ms)
  }

  /** Sets the system clock, as a user would. */
  setClock(offMs: number): void {
    this.#isSynchronized.now = false
    this.system.set(this.#trueMs + offMs)
  }

  /** Sets the system clock correctly, as the operating system does, which then reports it as synchronised. */
  synchronize(): void {
    this.setClock(0)
    this.#isSynchronized.now = true
  }

  /** Stops the gateway, and starts it `offlineMs` later with a system clock that then shows `showsMs`. */
  async restart(offlineMs: number, showsMs: (system: FakeClock, trueMs: number) => number): Promise<void> {
    this.#clients.clear()
    this.#isSynchronized.now = false
    await this.#gateway.restart(() => {
      this.passTime(offlineMs)
      this.system.set(showsMs(this.system, this.#trueMs))
    })
    this.#isJustStarted = true
  }

  /** Confirms the true time, as an admin. */
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

  /** Deletes everything a device sent, which no clock should cause. */
  async remove(device: DeviceId): Promise<void> {
    await this.#gateway.request('DELETE', `/devices/${device}/telemetry`)
  }

  runRetention(): Promise<void> {
    return this.#gateway.runRetention()
  }

  /** Records a fault if the gateway's time is wrong, it could know so, and it reports nothing. */
  async check(what: string): Promise<void> {
    const reported = await this.#ask()
    const { gatewayMs, doubt } = reported
    const wrongMs = gatewayMs - this.#trueMs
    if (doubt !== null) this.#doubts++
    const isFirstTime = this.#isJustStarted || this.#reported?.doubt === 'not_set'
    if (doubt === null && isFirstTime) this.#excusedMs = this.#couldBe(gatewayMs) ? wrongMs : 0
    if (this.#isSynchronized.now) this.#excusedMs = 0
    this.#isJustStarted = false
    this.#reported = reported
    const isRight = Math.min(Math.abs(wrongMs), Math.abs(wrongMs - this.#excusedMs)) <= RIGHT_MS
    if (!isRight && doubt === null) this.#unreported.push(`${what}: ${toIso(gatewayMs)} for ${toIso(this.#trueMs)}`)
    const isShown = doubt === null ? 0 : 1
    const { body } = await this.#gateway.request('GET', '/metrics')
    if (!new RegExp(`^cartbarn_clock_doubted ${isShown}$`, 'm').test(body))
      this.#unreported.push(`${what}: the metric differs from /health`)
  }

  /** Sends `count` readings of each device in one message, the first from `spanMs` ago, as after an outage. */
  async send(devices: readonly DeviceId[], count: number, spanMs: number): Promise<void> {
    for (const device of devices) {
      const client = await this.#connect(device)
      if (device === 'requesting') await this.#askForTime(client)
      // without any time, only a reading of the present moment can be sent
      const canWait = device !== 'without' && !(device === 'requesting' && this.#receivedOffMs === null)
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
          missing.push(`${key} of ${toIso(reading.trueMs)}, sent with ${describeTime(reading.timestampMs)}`)
      }
    }
    return {
      acknowledged: this.#sent.length,
      missing,
      unreported: this.#unreported,
      inQuarantine: quarantined.size,
      redated: this.#redated,
      doubts: this.#doubts,
    }
  }

  /** True if the gateway cannot rule out a time after a start, because it was switched off until then. */
  #couldBe(gatewayMs: number): boolean {
    if (this.#reported === null || this.#reported.gatewayMs < FIRST_GUESS_END_MS) return true
    const afterMs = gatewayMs - this.#reported.gatewayMs
    return afterMs >= -RIGHT_MS && afterMs <= UNCONFIRMED_MS + RIGHT_MS
  }

  async #ask(): Promise<ReportedClock> {
    const { body } = await this.#gateway.request('GET', '/health')
    return { gatewayMs: Date.parse(body.timestamp), doubt: body.clock_doubt ?? null }
  }

  async #sendOf(device: DeviceId, client: MqttClient, count: number, spanMs: number): Promise<void> {
    const { gatewayMs, doubt } = await this.#ask()
    const readings = Array.from({ length: count }, (_, i) => ({
      // no two readings at one time, nor at times that a jump of whole hours makes equal
      trueMs: this.#trueMs - Math.round((spanMs * (count - 1 - i)) / count) - 7 * i,
      voltageMv: ++this.#voltageMv,
    }))
    const payload = this.#payload(device, readings)
    await client.publishAsync(`dev/${device}/tlm`, JSON.stringify(payload), { qos: 1 })
    for (const reading of readings) {
      const sentMs = this.#timestampOf(device, reading)
      // in a single reading such a time is not trusted: the gateway dates it, unless its own time is an estimate
      const isEstimate = doubt !== null && doubt !== 'ahead'
      const isRedated = count === 1 && !isEstimate && sentMs !== null && sentMs > gatewayMs + MAX_AHEAD_MS
      if (isRedated) this.#redated++
      this.#sent.push({ ...reading, hardwareId: device, timestampMs: isRedated ? null : sentMs, gatewayMs })
    }
    // the next device never sends at the same millisecond
    this.passTime(1000 + (this.#voltageMv % 977))
  }

  /** A reading without a clock, or several of them in the format of this kind of device. */
  #payload(device: DeviceId, readings: readonly { trueMs: number; voltageMv: number }[]): unknown {
    const one = (reading: { trueMs: number; voltageMv: number }) => {
      const ts = this.#timestampOf(device, reading)
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

  /** Time that the device gives a reading. */
  #timestampOf(device: DeviceId, { trueMs }: { trueMs: number }): number | null {
    if (device === 'without' || device === 'uptime') return null
    if (device !== 'requesting') return trueMs
    return this.#receivedOffMs === null ? null : trueMs + this.#receivedOffMs
  }

  /** Requests the time, as the device does; it keeps the last response, and receives none during a clock fault. */
  async #askForTime(client: MqttClient): Promise<void> {
    await client.subscribeAsync('dev/requesting/ta')
    const received = Promise.withResolvers<number>()
    const take = (_: string, payload: Buffer) => received.resolve(JSON.parse(payload.toString()).t)
    client.on('message', take)
    await client.publishAsync('dev/requesting/tq', '{"up":1}', { qos: 1 })
    // once this publication is acknowledged, the response has been sent
    await client.publishAsync('dev/requesting/st', '{"online":true,"type":"teebox"}', { qos: 1 })
    const t = await Promise.race([received.promise, new Promise<null>((done) => setImmediate(done, null))])
    client.off('message', take)
    if (t !== null) this.#receivedOffMs = t - this.#trueMs
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
