import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import type { TelemetryStream } from '#shared/ids.ts'
import { isInGap, ReplicationModel } from '#testing/replication-model.ts'
import { openTables } from '#testing/telemetry-tables.ts'
import { claimSite, forkEpoch, syncCursors } from '../ledger/cursors.ts'
import { createDevice, deleteDevice } from '../tables/devices.ts'
import { dropLog, replaceBlocks } from '../telemetry/blocks.ts'
import { quarantineBlocks } from '../telemetry/damaged-blocks.ts'
import {
  deleteDeviceTelemetryStep,
  deleteTelemetryStep,
  type PurgePosition,
  type PurgeRequest,
  type PurgeStep,
  purgeTelemetryStep,
} from '../telemetry/deletion.ts'
import { beginErasure } from '../telemetry/erasure.ts'
import type { WriterTables } from '../telemetry/log-tail.ts'
import { planSealing } from '../telemetry/seal-plan.ts'
import { importTelemetry, SAMPLE_NUMBERS, storeSamples } from '../telemetry/store-samples.ts'

const DEVICES = 3
const LAST_TIME = 60

interface Sample {
  device: number
  atMs: number
  has: 'gps' | 'battery' | 'both'
}

type Step =
  | { is: 'append' | 'import'; samples: Sample[] }
  | { is: 'seal'; through: 'cursor' | 'all'; replacements: number }
  | { is: 'read'; stream: 'telemetry' | 'history'; rows: number }
  | { is: 'deliver'; isAnswered: boolean }
  | { is: 'notes' | 'fork' }
  | { is: 'purge'; beforeMs: number; keepsUnsent: boolean; meanwhile: Step[] }
  | { is: 'erase'; device: number; streams: TelemetryStream[]; arrives: Sample[]; meanwhile: Step[] }
  | { is: 'remove'; device: number; meanwhile: Step[] }
  | { is: 'damage'; nth: number }

const sampleArbitrary: fc.Arbitrary<Sample> = fc.record({
  device: fc.integer({ min: 0, max: DEVICES - 1 }),
  atMs: fc.integer({ min: 1, max: LAST_TIME }),
  has: fc.constantFrom('gps', 'battery', 'both'),
})
const samplesArbitrary = fc.array(sampleArbitrary, { minLength: 1, maxLength: 12 })
const appendArbitrary = fc.record({ is: fc.constant('append' as const), samples: samplesArbitrary })
const sendArbitrary: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    is: fc.constant('read' as const),
    stream: fc.constantFrom('telemetry' as const, 'history' as const),
    rows: fc.integer({ min: 1, max: 15 }),
  }),
  fc.record({ is: fc.constant('deliver' as const), isAnswered: fc.boolean() }),
  fc.record({ is: fc.constant('notes' as const) }),
)
/** Steps between those of a deletion; the maintenance lock excludes other deletions and sealing. */
const meanwhileArbitrary = fc.array(fc.oneof(appendArbitrary, sendArbitrary), { maxLength: 6 })
const deviceArbitrary = fc.integer({ min: 0, max: DEVICES - 1 })
const sealArbitrary: fc.Arbitrary<Step> = fc.record({
  is: fc.constant('seal' as const),
  through: fc.constantFrom('cursor' as const, 'all' as const),
  replacements: fc.constantFrom(0, 1, 2, 1000, 1000, 1000),
})
const eraseArbitrary: fc.Arbitrary<Step> = fc.record({
  is: fc.constant('erase' as const),
  device: deviceArbitrary,
  streams: fc.constantFrom<TelemetryStream[]>(['gps'], ['battery'], ['gps', 'battery']),
  arrives: fc.array(sampleArbitrary, { maxLength: 3 }),
  meanwhile: meanwhileArbitrary,
})
const removeArbitrary: fc.Arbitrary<Step> = fc.record({
  is: fc.constant('remove' as const),
  device: deviceArbitrary,
  meanwhile: meanwhileArbitrary,
})
const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: appendArbitrary, weight: 6 },
  { arbitrary: sendArbitrary, weight: 8 },
  fc.record({ is: fc.constant('import' as const), samples: samplesArbitrary }),
  { arbitrary: sealArbitrary, weight: 4 },
  fc.record({
    is: fc.constant('purge' as const),
    beforeMs: fc.integer({ min: 1, max: LAST_TIME }),
    keepsUnsent: fc.boolean(),
    meanwhile: meanwhileArbitrary,
  }),
  eraseArbitrary,
  removeArbitrary,
  fc.record({ is: fc.constant('damage' as const), nth: fc.nat({ max: 20 }) }),
  fc.record({ is: fc.constant('fork' as const) }),
)

const { connection, close } = openTables()
after(close)

function write<Result>(work: (tables: WriterTables) => Result): Result {
  const result = connection.db.transaction(() => work(connection))()
  connection.tail.committed()
  return result
}

/** Gateway with its hub. */
class Run {
  readonly model = new ReplicationModel(connection)
  readonly #deviceIds: number[] = []
  /** Records that purges and damage removed and no erasure requested. */
  readonly #lost = new Set<string>()

  constructor(isClaimed: boolean) {
    connection.db.exec(`
      DELETE FROM telemetry_log; DELETE FROM telemetry_block; DELETE FROM damaged_block; DELETE FROM device;
      DELETE FROM note; DELETE FROM erase_mark; DELETE FROM sync_cursor; DELETE FROM telemetry_deletion;
      UPDATE sync_identity SET site = NULL; UPDATE telemetry_log_end SET next_seq = 1;
    `)
    connection.tail.forget()
    if (isClaimed) claimSite(connection, { site: 'links' })
    for (let i = 0; i < DEVICES; i++) this.#deviceIds.push(newDevice(i))
  }

  do(step: Step): void {
    if (step.is === 'append') write((tables) => storeSamples(tables, this.#pack(step.samples)))
    else if (step.is === 'import') this.#import(step.samples)
    else if (step.is === 'read') this.model.read(step.stream, step.rows)
    else if (step.is === 'deliver') this.model.deliver(step.isAnswered)
    else if (step.is === 'notes') this.model.sendNotes()
    else if (step.is === 'seal') this.seal(step.through, step.replacements)
    else if (step.is === 'purge') this.#purge(step.beforeMs, step.keepsUnsent, step.meanwhile)
    else if (step.is === 'erase') this.#erase(step)
    else if (step.is === 'remove') this.#remove(step.device, step.meanwhile)
    else if (step.is === 'damage') this.#damage(step.nth)
    else {
      this.model.beginEpoch()
      write((tables) => forkEpoch(tables, { reason: 'a test' }))
    }
  }

  /** One pass, or the possible part of one. */
  seal(through: 'cursor' | 'all', replacements = 1000): void {
    const acknowledged = syncCursors(connection).telemetry.seq
    // as in services/sealing.ts: acknowledged samples first, in a pass of their own
    this.#pass(acknowledged, replacements)
    if (through === 'all') this.#pass(Number.MAX_SAFE_INTEGER, replacements)
  }

  /** Asserts that the hub has all records of the gateway and the purged ones, once all is sent, but no erased ones. */
  assertEnd(): void {
    this.model.drain()
    this.model.assertNothingForgotten()
    const { records, gaps } = this.model
    const stored = this.#keys()
    for (const key of stored) assert.ok(records.has(key), `${key} arrived`)
    for (const key of records) assert.ok(stored.has(key) || this.#lost.has(key), `${key} was erased`)
    for (const key of this.#lost) {
      const isReported = records.has(key) || gaps.some((gap) => isInGap(gap, key))
      assert.ok(isReported, `${key} is gone, and no gap reports it`)
    }
  }

  #pass(toSeq: number, replacements: number): void {
    const range = { fromSeq: 0, throughSeq: toSeq, maxSamples: 1000, afterDeviceId: null }
    const plan = planSealing(connection, range)
    const { throughSeq } = plan
    if (throughSeq === null) return
    assert.deepEqual([plan.lastDeviceId, plan.unreadable, plan.damagedSeq], [null, [], null])
    for (const replacement of plan.replacements.slice(0, replacements))
      write((tables) => replaceBlocks(tables, { replacements: [replacement], throughSeq }))
    if (plan.replacements.length <= replacements)
      write((tables) => dropLog(tables, { fromSeq: 0, throughSeq, limit: 1000 }))
  }

  #purge(beforeMs: number, keepsUnsent: boolean, meanwhile: Step[]): void {
    this.seal('all')
    const before = this.#keys()
    const notes = countNotes()
    let after: PurgePosition | null = null
    for (;;) {
      const request: PurgeRequest = { beforeMs, after, nowMs: 1000, keepsUnsent }
      const done: PurgeStep = write((tables) => purgeTelemetryStep(tables, request))
      after = done.after
      if (done.isDone) break
    }
    const now = this.#keys()
    const gone = [...before].filter((key) => !now.has(key))
    for (const key of gone) {
      this.#lost.add(key)
      if (keepsUnsent) assert.ok(this.model.records.has(key), `${key} was acknowledged`)
    }
    if (keepsUnsent) assert.equal(countNotes(), notes)
    else for (const key of now) assert.ok(Number(key.split(' ')[2]) >= beforeMs || !before.has(key), key)
    for (const step of meanwhile) this.do(step)
  }

  #erase({ device, streams, arrives, meanwhile }: Extract<Step, { is: 'erase' }>): void {
    this.seal('all')
    this.do({ is: 'append', samples: arrives })
    this.#forget(device, streams)
    const deviceId = this.#deviceIds[device] ?? 0
    write((tables) => beginErasure(tables, { deviceId, streams, nowMs: 1000 }))
    for (const step of meanwhile) this.do(step)
    while (!write((tables) => deleteDeviceTelemetryStep(tables, { deviceId, streams })).isDone);
  }

  #remove(device: number, meanwhile: Step[]): void {
    this.#forget(device, ['gps', 'battery'])
    write((tables) => deleteDevice(tables, { hardwareId: `cart-${device}`, nowMs: 1000 }))
    this.#deviceIds[device] = newDevice(device)
    for (const step of meanwhile) this.do(step)
    while (write((tables) => deleteTelemetryStep(tables, undefined)));
  }

  /** Damages a block; none of its parts was read in that state. */
  #damage(nth: number): void {
    const blocks = connection.all<{ id: number }>('SELECT block_id AS id FROM telemetry_block ORDER BY block_id')
    const id = blocks[nth % Math.max(blocks.length, 1)]?.id
    if (id === undefined) return
    const before = this.#keys()
    connection.run("UPDATE telemetry_block SET records = x'00' WHERE block_id = ?", id)
    write((tables) => quarantineBlocks(tables, { blockIds: [id], nowMs: 1000 }))
    const now = this.#keys()
    for (const key of before) if (!now.has(key)) this.#lost.add(key)
  }

  #import(samples: Sample[]): void {
    for (const [device, deviceId] of this.#deviceIds.entries()) {
      const own = this.#pack(samples.filter((sample) => sample.device === device))
      write((tables) => importTelemetry(tables, { deviceId, samples: own }))
    }
  }

  #forget(device: number, streams: readonly TelemetryStream[]): void {
    for (const key of this.#lost) {
      if (streams.some((stream) => key.startsWith(`cart-${device} ${stream} `))) this.#lost.delete(key)
    }
  }

  #pack(samples: Sample[]): Float64Array {
    const packed = new Float64Array(samples.length * SAMPLE_NUMBERS).fill(Number.NaN)
    for (const [i, { device, atMs, has }] of samples.entries()) {
      const at = i * SAMPLE_NUMBERS
      packed[at] = this.#deviceIds[device] ?? 0
      packed[at + 1] = atMs
      if (has !== 'battery') packed.set([atMs, -atMs], at + 2)
      if (has !== 'gps') packed[at + 5] = atMs
    }
    return packed
  }

  #keys(): Set<string> {
    return new Set(this.model.stored().map(({ key }) => key))
  }
}

function newDevice(n: number): number {
  return createDevice(connection, {
    hardwareId: `cart-${n}`,
    deviceType: 'teebox',
    name: null,
    groupId: null,
    mqttPasswordHash: 'x',
    nowMs: 0,
    publication: { version: null, sessionChanges: [] },
  }).deviceId
}

function countNotes(): number {
  return connection.get<{ n: number }>(`SELECT count(*) AS n FROM note WHERE kind = 'gap'`)?.n ?? 0
}

for (const [what, steps] of [
  ['whatever happens', stepArbitrary],
  [
    'whatever is sent while records are erased',
    fc.oneof(appendArbitrary, sendArbitrary, eraseArbitrary, sealArbitrary),
  ],
  [
    'whatever is sent while devices are removed',
    fc.oneof(appendArbitrary, sendArbitrary, removeArbitrary, sealArbitrary),
  ],
] as const) {
  test(`${what}: every stored row is eventually sent, and every lost row is reported`, () => {
    fc.assert(
      fc.property(fc.boolean(), fc.array(steps, { maxLength: 40 }), (isClaimed, taken) => {
        const run = new Run(isClaimed)
        for (const step of taken) {
          run.do(step)
          run.model.assertNothingForgotten()
        }
        run.assertEnd()
      }),
      { numRuns: 300 },
    )
  })
}
