import { createLog } from '#shared/log.ts'
import { Store } from '#store/store.ts'
import { SAMPLE_NUMBERS } from '#store/telemetry/store-samples.ts'
import type { Appendable } from '#store/writer/commit-queue.ts'

/** Samples of one transaction, `SAMPLE_NUMBERS` each, as the gateway's own ingest packs them. */
export type SampleBatch = Float64Array

interface FilledBatch extends Appendable {
  samples: SampleBatch
}

const STATE = '{}'

/**
 * Puts telemetry into the folder of a stopped gateway, through the store of the gateway and as its ingest does: one
 * transaction a batch, with the state of every device in it. Only the way over the network is left out.
 */
export class TelemetryFiller {
  readonly #store: Store<FilledBatch>

  private constructor(store: Store<FilledBatch>) {
    this.#store = store
  }

  static async open(dataDir: string): Promise<TelemetryFiller> {
    const store = new Store<FilledBatch>(
      { dataDir, readerThreads: 1, writeQueueRows: 1_000_000 },
      createLog('error'),
    )
    store.queue.attach({
      encode: (messages) => ({
        samples: concatenate(messages.map(({ samples }) => samples)),
        states: [...new Set(messages.flatMap(({ samples }) => deviceIdsIn(samples)))].map((deviceId) => ({
          ...{ deviceId, latestJson: STATE, updatedAtMs: 0, lastRespondedAtMs: null },
        })),
        ...{ lockEvents: [], quarantined: [], commandAcks: [], sessionChanges: [] },
      }),
      committed: () => undefined,
      announce: () => undefined,
      discarded: () => undefined,
      refused: (message, reason) => message.onRefused(reason),
    })
    await store.start()
    return new TelemetryFiller(store)
  }

  /** The registered devices: what samples call them, by hardware id. */
  deviceIds(): Map<string, number> {
    return new Map(this.#store.read.devices().map(({ hardwareId, deviceId }) => [hardwareId, deviceId]))
  }

  /** Resolves when the batch is on the disk. */
  write(samples: SampleBatch): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#store.queue.append({
        samples,
        rows: samples.length / SAMPLE_NUMBERS,
        sessionChanges: [],
        onStored: resolve,
        onRefused: (reason) => reject(new Error(`not stored: ${reason}`)),
      })
    })
  }

  close(): Promise<void> {
    return this.#store.stop()
  }
}

function deviceIdsIn(samples: SampleBatch): number[] {
  const ids = new Set<number>()
  for (let at = 0; at < samples.length; at += SAMPLE_NUMBERS) ids.add(samples[at] ?? 0)
  return [...ids]
}

function concatenate(batches: readonly SampleBatch[]): SampleBatch {
  const [only] = batches
  if (only !== undefined && batches.length === 1) return only
  const all = new Float64Array(batches.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const batch of batches) {
    all.set(batch, at)
    at += batch.length
  }
  return all
}
