import { execFileSync } from 'node:child_process'
import { cpSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { emptyState } from '#domain/latest-state.ts'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import { readDatabase } from '#scripts/rig/read-database.ts'
import { formatCount, printProgress } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { mustReach } from '#scripts/rig/wait-until.ts'
import { createLog } from '#shared/log.ts'
import { NO_ZONE_STATE } from '#shared/zones/watch.ts'
import { databasePath } from '#store/db/files.ts'
import { decodeBatch } from '#store/telemetry/batch.ts'
import { encodeStateChanges } from '#store/telemetry/state-changes.ts'
import { SAMPLE_NUMBERS } from '#store/telemetry/store-samples.ts'
import type { AppendBatch, NewLockEvent } from '#store/writer/append.ts'
import { Writer } from '#store/writer/writer.ts'

/** Samples between two sealings, limited by the memory of the writer. */
const PORTION_SAMPLES = 1_000_000
const BATCH_SIZE = 8192
/** A device outside the benchmark: erasing its history makes the gateway seal the whole log. */
const SPARE = 'spare-00000'
const SEALED_LIMIT_MS = 120_000
/** Smallest log that the gateway seals automatically, in total; the next constant is the same per device. */
const SMALL_LOG = 256
const UNSEALED_PER_DEVICE = 128

/** Sample of one device at one time, in the units of the database; NaN for what the device does not report. */
export interface FilledSample {
  deviceId: number
  atMs: number
  latE7: number
  longE7: number
  speedMilliKmh: number
  voltageMv: number
}

/** 1 May 2026. */
export const MADE_FROM_MS = 1_777_593_600_000
export const MADE_GAP_MS = 5000

/** Sample of a device at a tick since then, with numbers as long as real ones. */
export function madeSample(deviceId: number, tick: number): FilledSample {
  return {
    deviceId,
    atMs: MADE_FROM_MS + tick * MADE_GAP_MS,
    latE7: 365_680_000 + ((tick * 37) % 90_000),
    longE7: -1_219_480_000 + ((tick * 53) % 90_000),
    speedMilliKmh: (tick * 7) % 24_000,
    voltageMv: 48_000 + ((tick * 11) % 6_000),
  }
}

/** Data folder of a gateway, created and extended while no gateway runs in it. */
export class FilledFolder {
  readonly path: string
  readonly #context: ScenarioContext
  #devices = 0

  private constructor(context: ScenarioContext, name: string) {
    this.#context = context
    this.path = context.bench.createFolder(name)
  }

  static async create(context: ScenarioContext, name: string): Promise<FilledFolder> {
    const folder = new FilledFolder(context, name)
    await folder.register(1, 'spare')
    return folder
  }

  copy(): FilledFolder {
    const copy = new FilledFolder(this.#context, 'copy')
    cpSync(this.path, copy.path, { recursive: true })
    copy.#devices = this.#devices
    return copy
  }

  /** Starts a gateway on the filled folder: that of the benchmark, or another. */
  start(env: Record<string, string> = {}, entry = this.#context.entry): Promise<GatewayProcess> {
    return startGateway(this.#context.bench, { entry, dataDir: this.path, env })
  }

  /** Starts a gateway for the first time: it stores checksums of new blocks, and Node keeps its compile cache. */
  async startFirst(entry?: string): Promise<void> {
    const { process } = await this.start({}, entry)
    await process.stop()
  }

  /** Evicts the files of the folder from the file cache, and no others: coreutils' dd advises the kernel. */
  leaveFileCache(): void {
    for (const file of readdirSync(this.path, { withFileTypes: true })) {
      const words = ['oflag=nocache', 'conv=notrunc,fdatasync', 'count=0', 'status=none']
      if (file.isFile()) execFileSync('dd', [`of=${join(this.path, file.name)}`, ...words])
    }
  }

  async register(count: number, prefix: string): Promise<BenchDevice[]> {
    const gateway = await this.start()
    const devices = await gateway.api.registerDevices(count, prefix)
    await gateway.process.stop()
    this.#devices += count
    return devices
  }

  /** Device ids of the registered devices of a prefix, as samples use them, in the order of their hardware ids. */
  deviceIds(prefix: string): number[] {
    return this.#columnOf<number>('device_id', prefix)
  }

  /** Short ids of those registrations, as lock events use them, in the same order. */
  shortIds(prefix: string): string[] {
    return this.#columnOf<string>('short_id', prefix)
  }

  /** Writes the samples and has them sealed, portion by portion. Returns the number of samples. */
  async fill(samples: Iterable<FilledSample>): Promise<number> {
    const batches = packed(samples)
    let total = 0
    for (let written = PORTION_SAMPLES; written >= PORTION_SAMPLES; total += written) {
      written = await this.#write(batches, PORTION_SAMPLES)
      const gateway = await this.start({ CARTBARN_SEAL_SAMPLES: String(SMALL_LOG) })
      await this.seal(gateway)
      await gateway.process.stop()
    }
    printProgress(`  ${formatCount(total)} samples written`)
    return total
  }

  /** Writes the samples and leaves them in the log. Returns the number of samples. */
  fillLog(samples: Iterable<FilledSample>): Promise<number> {
    return this.#write(packed(samples), Number.POSITIVE_INFINITY)
  }

  /** Writes lock events in the form in which devices send them. */
  async fillLockEvents(events: Iterable<NewLockEvent>): Promise<void> {
    const lockEvents = [...events]
    const batches = Array.from({ length: Math.ceil(lockEvents.length / BATCH_SIZE) }, (_, i) => ({
      lockEvents: lockEvents.slice(i * BATCH_SIZE, (i + 1) * BATCH_SIZE),
    }))
    await this.#write(batches.values(), Number.POSITIVE_INFINITY)
  }

  /** Makes a running gateway seal its log; resolves when only the tail is left, which is never sealed. */
  async seal({ api }: GatewayProcess): Promise<void> {
    await api.call('DELETE /devices/{id}/telemetry', { path: { id: SPARE } })
    const tail = Math.max(SMALL_LOG, UNSEALED_PER_DEVICE * this.#devices)
    const isSealed = () => countUnsealed(this.path) <= tail
    await mustReach(isSealed, SEALED_LIMIT_MS, 'the gateway does not seal its log')
  }

  #columnOf<Value>(column: 'device_id' | 'short_id', prefix: string): Value[] {
    const sql = `SELECT ${column} FROM device WHERE hardware_id GLOB ? ORDER BY hardware_id`
    return readDatabase(this.path, (db) => db.prepare<[string], Value>(sql).pluck().all(`${prefix}-*`))
  }

  /** Writes batches until there are no more or this many samples are written; returns the number written. */
  async #write(batches: Iterator<Partial<AppendBatch>>, samples: number): Promise<number> {
    const writer = new Writer(databasePath(this.path), createLog('error'))
    await writer.start()
    let written = 0
    let last: Promise<void> = Promise.resolve()
    while (written < samples) {
      const { value: batch, done } = batches.next()
      if (done === true) break
      written += (batch.samples?.length ?? 0) / SAMPLE_NUMBERS
      // in parallel: the next batch is made while one is written
      await last
      last = append(writer, batch)
    }
    await last
    await writer.stop()
    return written
  }
}

/** Number of samples that are not in a block yet; the gateway may be running. */
function countUnsealed(dataDir: string): number {
  return readDatabase(dataDir, (db) => {
    const rows = db.prepare<[], Uint8Array>('SELECT samples FROM telemetry_log').pluck()
    let count = 0
    for (const samples of rows.iterate()) count += decodeBatch(samples).count
    return count
  })
}

async function append(writer: Writer, content: Partial<AppendBatch>): Promise<void> {
  const nothing = { samples: new Float64Array(), stateChanges: new Uint8Array(), lockEvents: [] }
  const nothingElse = { quarantined: [], commandAcks: [], sessionChanges: [] }
  const batch = { ...nothing, ...nothingElse, ...content }
  const answer = await writer.perform({ kind: 'append', batch, run: 0 })
  if (answer.kind !== 'appended') throw new Error(`not stored: ${JSON.stringify(answer)}`)
}

/** Yields the batches of the gateway's own ingest: each a transaction, with the state of every device in it. */
function* packed(samples: Iterable<FilledSample>): Generator<Partial<AppendBatch>, void, void> {
  const before = { state: emptyState(), updatedAtMs: 0, lastRespondedAtMs: null, watch: NO_ZONE_STATE }
  const after = { ...before, updatedAtMs: 1, lastRespondedAtMs: 1 }
  let numbers: number[] = []
  let deviceIds = new Set<number>()
  const batch = () => {
    const changes = [...deviceIds].map((deviceId) => ({ deviceId, before, after }))
    return { samples: new Float64Array(numbers), stateChanges: encodeStateChanges(changes) }
  }
  for (const { deviceId, atMs, latE7, longE7, speedMilliKmh, voltageMv } of samples) {
    numbers.push(deviceId, atMs, latE7, longE7, speedMilliKmh, voltageMv)
    deviceIds.add(deviceId)
    if (numbers.length < BATCH_SIZE * SAMPLE_NUMBERS) continue
    yield batch()
    numbers = []
    deviceIds = new Set()
  }
  if (numbers.length > 0) yield batch()
}
