import { type ApiClient, ApiError } from '#shared/client.ts'
import type { TelemetryStream } from '#shared/ids.ts'
import { DAY_MS, HOUR_MS } from '#shared/time.ts'
import type { DeletionScope, ExpectedHistory } from './expected-history.ts'
import { RECORD_AT, streamsAt } from './records.ts'
import { BACKLOG_DAYS, type HistorySenders } from './senders.ts'

const IMPORT_RECORDS = 1000
const OLDEST_PURGE_DAYS = BACKLOG_DAYS - 1
const YOUNGEST_PURGE_DAYS = 10

const EVER = { streams: ['gps', 'battery'], beforeMs: Number.POSITIVE_INFINITY } as const

const ERASURES = [
  { operation: 'DELETE /devices/{id}/telemetry', streams: ['gps', 'battery'] },
  { operation: 'DELETE /devices/{id}/telemetry/gps', streams: ['gps'] },
  { operation: 'DELETE /devices/{id}/telemetry/battery', streams: ['battery'] },
] as const

/** Client that adds old records over HTTP, and deletes some; a gateway may not run, or die before it responds. */
export class HistoryRequests {
  readonly #client: ApiClient
  readonly #hardwareIds: readonly string[]
  readonly #expected: ExpectedHistory
  readonly #senders: HistorySenders

  constructor(client: ApiClient, hardwareIds: readonly string[], expected: ExpectedHistory, senders: HistorySenders) {
    this.#client = client
    this.#hardwareIds = hardwareIds
    this.#expected = expected
    this.#senders = senders
  }

  /** Adds records of times past to a device. */
  async import(): Promise<void> {
    const times = this.#senders.pastTimes(1 + Math.floor(Math.random() * IMPORT_RECORDS))
    await this.importTimes(this.#chooseDevice(), times)
  }

  /** Adds records of these times to a device. */
  async importTimes(device: number, times: readonly number[]): Promise<void> {
    const of = (stream: TelemetryStream) => times.filter((atMs) => streamsAt(atMs).includes(stream))
    const body = {
      gps: of('gps').map((atMs) => RECORD_AT.gps(device, atMs)),
      battery: of('battery').map((atMs) => RECORD_AT.battery(device, atMs)),
    }
    const send = this.#expected.send(device, times)
    try {
      await this.#client.call('POST /devices/{id}/telemetry/import', { path: this.#pathOf(device), body })
      this.#expected.acknowledge(send)
    } catch (error) {
      if (didNothing(error)) this.#expected.withdraw(send)
    }
  }

  /** Deletes the oldest records of all devices. */
  async purge(): Promise<void> {
    const spread = OLDEST_PURGE_DAYS - YOUNGEST_PURGE_DAYS + 1
    const days = YOUNGEST_PURGE_DAYS + Math.floor(Math.random() * spread)
    // the gateway's present is at most an hour from now
    const latestMs = Date.now() + HOUR_MS - days * DAY_MS
    await this.#delete({ device: null, streams: ['gps', 'battery'], beforeMs: latestMs }, async () => {
      const purged = await this.#client.call('POST /telemetry/purge', { body: { older_than_days: days } })
      return Date.parse(purged.cutoff_date)
    })
  }

  /** Deletes records of a device. */
  async erase(): Promise<void> {
    const device = this.#chooseDevice()
    const { operation, streams } = ERASURES[Math.floor(Math.random() * ERASURES.length)] ?? ERASURES[0]
    await this.#delete({ ...EVER, device, streams }, () => this.#client.call(operation, { path: this.#pathOf(device) }))
  }

  /** Deletes a device with all its data. */
  async deleteDevice(device: number): Promise<void> {
    const path = this.#pathOf(device)
    await this.#delete({ ...EVER, device }, () => this.#client.call('DELETE /devices/{id}', { path }))
  }

  /** Executes a deletion; `request` may return the time (ms) before which records are gone, instead of the scope's. */
  async #delete(scope: DeletionScope, request: () => Promise<unknown>): Promise<void> {
    const deletion = this.#expected.startDeletion(scope)
    try {
      const answer = await request()
      this.#expected.confirmDeletion(deletion, typeof answer === 'number' ? answer : scope.beforeMs)
    } catch (error) {
      if (didNothing(error)) this.#expected.withdrawDeletion(deletion)
      else this.#expected.breakOffDeletion(deletion)
    }
  }

  #chooseDevice(): number {
    return Math.floor(Math.random() * this.#hardwareIds.length)
  }

  #pathOf(device: number): { id: string } {
    return { id: this.#hardwareIds[device] ?? '' }
  }
}

/** True for a request that was refused, or not even sent because no gateway ran. */
function didNothing(error: unknown): boolean {
  if (error instanceof ApiError) return error.status < 500
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED'
}
