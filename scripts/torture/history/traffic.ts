import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { ADMIN_KEY, type GatewayProcess } from '#scripts/rig/gateway-process.ts'
import { mustReach } from '#scripts/rig/wait-until.ts'
import { ApiClient } from '#shared/client.ts'
import type { TelemetryStream } from '#shared/ids.ts'
import { ExpectedHistory, type HistoryFaults } from './expected-history.ts'
import { listRecords } from './gateway-records.ts'
import { isAsSent } from './records.ts'
import { HistoryRequests } from './requests.ts'
import { HistorySenders } from './senders.ts'

export interface TrafficFaults extends HistoryFaults {
  /** Records with other values than were sent. */
  wrongValues: number
  /** Devices whose counts differ from the listed records. */
  wrongCounts: number
}

const DRAIN_LIMIT_MS = 20_000

/** A few devices and a client of the API that change a history in every possible way. */
export class HistoryTraffic {
  readonly requests: HistoryRequests
  readonly #senders: HistorySenders
  readonly #expected: ExpectedHistory
  readonly #hardwareIds: string[]
  readonly #client: ApiClient

  private constructor(devices: readonly BenchDevice[], { http, mqtt }: GatewayProcess['ports']) {
    this.#client = new ApiClient({ url: `http://127.0.0.1:${http}`, apiKey: ADMIN_KEY })
    this.#hardwareIds = devices.map(({ hardwareId }) => hardwareId)
    this.#expected = new ExpectedHistory(devices.length)
    this.#senders = new HistorySenders(devices, mqtt, this.#expected)
    this.requests = new HistoryRequests(this.#client, this.#hardwareIds, this.#expected, this.#senders)
  }

  /** Registers the devices and begins; the ports must stay the same. */
  static async start({ api, ports }: GatewayProcess, devices: number): Promise<HistoryTraffic> {
    const traffic = new HistoryTraffic(await api.registerDevices(devices, 'cart'), ports)
    traffic.#senders.goOnline()
    await traffic.ready()
    traffic.resume()
    return traffic
  }

  /** Resolves when all devices are connected. */
  async ready(): Promise<void> {
    await this.#senders.ready()
  }

  resume(): void {
    this.#senders.start()
    this.requests.start()
  }

  /** Stops and lets the running gateway answer all requests. */
  async pause(): Promise<void> {
    this.#senders.pause()
    await this.requests.pause()
    const isDrained = () => this.#senders.unacknowledged === 0
    await mustReach(isDrained, DRAIN_LIMIT_MS, 'messages are not acknowledged')
  }

  close(): void {
    this.#senders.close()
  }

  /** Reads the whole history and compares it with the expected records; only after `pause`. */
  async check(): Promise<TrafficFaults> {
    const total: TrafficFaults = {
      expected: 0,
      listed: 0,
      missing: 0,
      excused: 0,
      returned: 0,
      unknown: 0,
      twice: 0,
      wrongValues: 0,
      wrongCounts: 0,
      examples: [],
    }
    for (const [device, hardwareId] of this.#hardwareIds.entries()) {
      const listed: Record<TelemetryStream, number> = { gps: 0, battery: 0 }
      for (const stream of ['gps', 'battery'] as const) {
        const records = await listRecords(this.#client, hardwareId, stream)
        listed[stream] = records.length
        const times = records.map(({ timestamp }) => Date.parse(timestamp))
        add(total, this.#expected.judge(device, stream, times))
        const wrong = records.filter((record) => !isAsSent(device, stream, record))
        total.wrongValues += wrong.length
        if (wrong[0] !== undefined) total.examples.push(`not as sent: ${JSON.stringify(wrong[0])}`)
      }
      const path = { id: hardwareId }
      const counted = await this.#client.call('GET /devices/{id}/telemetry/stats', { path })
      if (counted.gps === listed.gps && counted.battery === listed.battery) continue
      total.wrongCounts++
      total.examples.push(`${hardwareId}: counted ${JSON.stringify(counted)}, listed ${JSON.stringify(listed)}`)
    }
    return total
  }
}

function add(total: TrafficFaults, faults: HistoryFaults): void {
  for (const kind of ['expected', 'listed', 'missing', 'returned', 'unknown', 'twice'] as const)
    total[kind] += faults[kind]
  total.examples.push(...faults.examples)
}
