import { isAnswer, type RetryTimeout } from '#scripts/cli/retry-timeout.ts'
import type { ApiClient } from '#shared/client.ts'
import type { ImportedBattery, ImportedGps } from '#shared/wire/telemetry-import.ts'
import type { TrackRecord } from './check-record.ts'
import type { ImportReport } from './import-report.ts'

/** Small, because devices wait meanwhile: with 1000 the median PUBACK took 13 ms instead of 8, on two busy cores. */
const BATCH_RECORDS = 500
const BATCHES_IN_FLIGHT = 2
/** Maximum number of records of all devices together that wait until a batch is full. */
const WAITING_RECORDS = 50_000

interface Batch {
  gps: ImportedGps[]
  battery: ImportedBattery[]
}

/** Sends records to the gateway in batches, a few at a time; adding records waits for room. */
export class Upload {
  readonly #client: ApiClient
  readonly #patience: RetryTimeout
  readonly #report: ImportReport
  readonly #waiting = new Map<string, Batch>()
  readonly #inFlight = new Set<Promise<void>>()
  #waitingRecords = 0
  #failure: { error: unknown } | undefined

  constructor(client: ApiClient, patience: RetryTimeout, report: ImportReport) {
    this.#client = client
    this.#patience = patience
    this.#report = report
  }

  /** Throws the error of an earlier failed batch. */
  async add(device: string, { gps, battery }: Pick<TrackRecord, 'gps' | 'battery'>): Promise<void> {
    const batch = this.#waiting.get(device) ?? { gps: [], battery: [] }
    this.#waiting.set(device, batch)
    if (gps !== null) batch.gps.push(gps)
    if (battery !== null) batch.battery.push(battery)
    this.#waitingRecords += Number(gps !== null) + Number(battery !== null)
    if (sizeOf(batch) >= BATCH_RECORDS) await this.#send(device, batch)
    else if (this.#waitingRecords >= WAITING_RECORDS) await this.#sendWaiting()
  }

  /** Resolves when all added records are stored. */
  async finish(): Promise<void> {
    await this.#sendWaiting()
    await Promise.all(this.#inFlight)
    this.#throwFailure()
  }

  async #sendWaiting(): Promise<void> {
    for (const [device, batch] of this.#waiting) await this.#send(device, batch)
  }

  async #send(device: string, batch: Batch): Promise<void> {
    this.#waiting.delete(device)
    this.#waitingRecords -= sizeOf(batch)
    while (this.#inFlight.size >= BATCHES_IN_FLIGHT) await Promise.race(this.#inFlight)
    this.#throwFailure()
    const sending = this.#import(device, batch)
      .catch((error: unknown) => {
        this.#failure ??= { error }
      })
      .finally(() => this.#inFlight.delete(sending))
    this.#inFlight.add(sending)
  }

  async #import(device: string, batch: Batch): Promise<void> {
    const report = this.#report
    try {
      const { stored, duplicates, dropped } = await this.#patience.with((signal) =>
        this.#client.call('POST /devices/{id}/telemetry/import', {
          path: { id: device },
          body: batch,
          signal,
        }),
      )
      for (const stream of ['gps', 'battery'] as const) {
        report.stored[stream] += stored[stream]
        report.duplicates[stream] += duplicates[stream]
      }
      for (const { reason, count } of dropped) report.dropThere(reason, count)
    } catch (error) {
      // of many devices one may be unknown; a single one was checked before
      if (!isAnswer(error, 'device_not_found')) throw error
      report.dropThere(`unknown_device ${device}`, sizeOf(batch))
    }
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error
  }
}

function sizeOf({ gps, battery }: Batch): number {
  return gps.length + battery.length
}
