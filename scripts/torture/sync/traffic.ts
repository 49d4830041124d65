import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { ADMIN_KEY, type GatewayProcess } from '#scripts/rig/gateway-process.ts'
import { mustReach } from '#scripts/rig/wait-until.ts'
import { ApiClient, ApiError } from '#shared/client.ts'
import { inParallel } from '#shared/in-parallel.ts'
import type { Random } from '#shared/random.ts'
import { ExpectedHistory } from '../history/expected-history.ts'
import { HistoryRequests } from '../history/requests.ts'
import { HistorySenders } from '../history/senders.ts'
import { LockDevices } from '../lock-devices.ts'
import { EntityChanges } from './entity-changes.ts'

const DEVICES = 6
const LOCK_DEVICES = 3
const LOCK_EVENTS_PER_S = 2
const LIMIT_MS = 30_000
const IMPORTS_AT_ONCE = 4
/** Retry interval without a gateway. */
const DOWN_MS = 100

/** Requests to the API in addition to the samples of devices. */
const ACTIONS = [
  'change',
  'change',
  'change',
  'change',
  'change',
  'import',
  'import',
  'import',
  'import',
  'erase',
  'purge',
  'delete',
  'register',
  'register',
  'course',
  'course',
  'course',
  'course',
] as const

/** Devices of a site and a client of its API, which change everything that is replicated. */
export class SyncTraffic {
  readonly expected: ExpectedHistory
  readonly hardwareIds: readonly string[]
  readonly locks: LockDevices
  readonly client: ApiClient
  /** Number of requests by kind. */
  readonly counts = new Map<string, number>()
  readonly #devices: { readonly carts: readonly BenchDevice[]; readonly locks: readonly BenchDevice[] }
  readonly #senders: HistorySenders
  readonly #requests: HistoryRequests
  readonly #changes: EntityChanges
  readonly #random: Random
  /** Devices that were deleted, or may have been. */
  readonly #deleted = new Set<number>()

  private constructor(
    devices: { readonly carts: readonly BenchDevice[]; readonly locks: readonly BenchDevice[] },
    ports: GatewayProcess['ports'],
    random: Random,
    lockEventPrefix = 'e',
  ) {
    const { carts, locks } = devices
    this.#devices = devices
    this.expected = new ExpectedHistory(carts.length)
    this.hardwareIds = carts.map(({ hardwareId }) => hardwareId)
    this.#random = random
    this.client = new ApiClient({ url: `http://127.0.0.1:${ports.http}`, apiKey: ADMIN_KEY })
    this.#senders = new HistorySenders(carts, ports.mqtt, this.expected)
    this.#requests = new HistoryRequests(this.client, this.hardwareIds, this.expected, this.#senders)
    this.#changes = new EntityChanges(this.client, this.hardwareIds, random)
    this.locks = new LockDevices(locks, ports.mqtt, LOCK_EVENTS_PER_S, lockEventPrefix)
  }

  /** Registers the devices and begins; the ports must stay the same. */
  static async start({ api, ports }: GatewayProcess, random: Random, count = DEVICES): Promise<SyncTraffic> {
    const carts = await api.registerDevices(count, 'cart')
    const locks = await api.registerDevices(LOCK_DEVICES, 'lock')
    const traffic = new SyncTraffic({ carts, locks }, ports, random)
    await traffic.#changes.createZones()
    traffic.#senders.goOnline()
    await traffic.ready()
    traffic.resume()
    return traffic
  }

  /** Returns the same devices a second time, at another gateway. */
  copy(ports: GatewayProcess['ports']): SyncTraffic {
    const copy = new SyncTraffic(this.#devices, ports, this.#random, 'twin-')
    copy.#senders.goOnline()
    return copy
  }

  /** Resolves when all registered devices are connected. */
  ready(): Promise<void> {
    return this.#senders.ready()
  }

  resume(): void {
    this.#senders.start()
    this.locks.start()
  }

  /** Stops, and lets the running gateway answer all requests. */
  async pause(): Promise<void> {
    this.#senders.pause()
    this.locks.stopReporting()
    const isDrained = () => this.#senders.unacknowledged === 0 && this.locks.unacknowledged === 0
    await mustReach(isDrained, LIMIT_MS, 'messages are not acknowledged')
  }

  close(): void {
    this.#senders.close()
    this.locks.close()
  }

  /** Deletes records of a device. */
  async erase(): Promise<void> {
    await this.#requests.erase()
  }

  /** Adds recent records to each device, one every `stepMs`, at times without a record. */
  async addHistory(spanMs: number, stepMs: number): Promise<void> {
    const nowMs = Date.now()
    const times = Array.from({ length: Math.floor(spanMs / stepMs) }, (_, i) => nowMs - i * stepMs)
    const devices = this.hardwareIds.map((_, device) => device)
    await inParallel(devices, IMPORTS_AT_ONCE, (device) => this.#requests.importTimes(device, times))
  }

  requirePhoto(): Promise<void> {
    return this.#changes.requirePhoto()
  }

  /** Makes a request to the API if a gateway runs; returns which. */
  async act(): Promise<string> {
    const action = this.#random.pick(ACTIONS)
    const device = this.#random.integer(0, this.hardwareIds.length - 1)
    switch (action) {
      case 'change':
        return this.#count(await this.#changes.change())
      case 'course':
        return this.#count(await this.#changes.changeCourse())
      case 'import':
        await this.#requests.import()
        break
      case 'erase':
        await this.#requests.erase()
        break
      case 'purge':
        await this.#requests.purge()
        break
      case 'delete':
        this.#deleted.add(device)
        this.#senders.leave(device)
        await this.#requests.deleteDevice(device)
        break
      case 'register':
        await this.#registerDeleted()
    }
    return this.#count(action)
  }

  /** Registers a deleted device again, if there is one and a gateway runs; its login differs then. */
  async #registerDeleted(): Promise<void> {
    const [device] = this.#deleted
    if (device === undefined) return
    const hardwareId = this.hardwareIds[device] ?? ''
    const password = await this.#register(hardwareId).catch(() => undefined)
    if (password === undefined) {
      await sleep(DOWN_MS)
      return
    }
    this.#deleted.delete(device)
    this.#senders.join(device, { hardwareId, password })
  }

  /** Registers a device; one that exists (not deleted, or its response was lost) gets another password. */
  async #register(hardwareId: string): Promise<string> {
    try {
      const { mqtt } = await this.client.call('POST /devices', {
        body: { hardware_id: hardwareId, device_type: 'teebox' },
      })
      return mqtt.password
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error
      const path = { id: hardwareId }
      const { mqtt } = await this.client.call('POST /devices/{id}/rotate-mqtt-password', { path })
      return mqtt.password
    }
  }

  #count(action: string): string {
    this.counts.set(action, (this.counts.get(action) ?? 0) + 1)
    return action
  }
}
