import assert from 'node:assert/strict'
import type { TelemetryStream } from '#shared/ids.ts'
import { decodeBlock, MAX_BLOCK_RECORDS } from '#shared/telemetry/block.ts'
import { decodeBlocks } from '#shared/telemetry/blocks.ts'
import { BATTERY, GPS } from '#shared/telemetry/records.ts'
import { decodeRuns, type TelemetryRun } from '#shared/telemetry/runs.ts'
import type { Erase, Gap } from '#shared/wire/replication/sync.ts'
import { claimSite, syncCursors } from '#store/ledger/cursors.ts'
import { acknowledge } from '#store/replication/acknowledge.ts'
import { nextHistoryPart } from '#store/replication/history-part.ts'
import { nextLogPart } from '#store/replication/log-part.ts'
import { decodeBatch, HAS_BATTERY, HAS_GPS } from '#store/telemetry/batch.ts'
import type { WriterTables } from '#store/telemetry/log-tail.ts'
import { ReaderTools } from '#store/telemetry/reader-tools.ts'

interface Place {
  /** Key of the form `hardware_id stream time`. */
  readonly key: string
  /** Position of the sample, or of the entry of the block. */
  readonly seq: number | null
}

interface Part {
  readonly stream: 'telemetry' | 'history'
  readonly to: number
  readonly keys: readonly string[]
}

const SITE = 'links'
const PART_BYTES = 262_144
const HASH = 'a'.repeat(64)

/** Minimal model of a hub, with the rules of what may be sent to it when. */
export class ReplicationModel {
  readonly #tables: WriterTables
  /** Records that the hub has. */
  readonly records = new Set<string>()
  #erasures: Erase[] = []
  readonly gaps: Gap[] = []
  readonly #noteIds = new Set<string>()
  readonly #tools: ReaderTools
  #parts: Part[] = []

  constructor(tables: WriterTables) {
    this.#tables = tables
    this.#tools = new ReaderTools(tables)
  }

  /** Reads a batch, which is delivered later. */
  read(stream: Part['stream'], rows: number): void {
    claimSite(this.#tables, { site: SITE })
    if (this.#parts.some((part) => part.stream === stream)) return
    const part = this.#nextPart(stream, rows)
    if (part !== null) this.#parts.push(part)
  }

  /** Delivers the batches in transit, and acknowledges them unless the response is lost. */
  deliver(isAnswered: boolean): void {
    const parts = this.#parts
    this.#parts = []
    for (const { stream, to, keys } of parts) {
      for (const key of keys) if (!this.#isErased(stream, to, key)) this.records.add(key)
      if (isAnswered) this.#acknowledge(stream, to)
    }
  }

  /** Delivers the batches in transit without their responses: the gateway has started a new epoch. */
  beginEpoch(): void {
    this.deliver(false)
    this.#erasures = []
  }

  sendNotes(): void {
    claimSite(this.#tables, { site: SITE })
    const { seq } = syncCursors(this.#tables).notes
    const notes = this.#tables.all<{ seq: number; id: string; kind: string; body: string }>(
      'SELECT seq, note_id AS id, kind, body FROM note WHERE seq > ? ORDER BY seq',
      seq,
    )
    for (const note of notes) {
      if (this.#noteIds.has(note.id)) continue
      this.#noteIds.add(note.id)
      if (note.kind === 'gap') this.gaps.push(JSON.parse(note.body))
      else this.#erase(JSON.parse(note.body))
    }
    const last = notes.at(-1)
    if (last !== undefined) this.#acknowledge('notes', last.seq)
  }

  /** Sends until nothing is left. */
  drain(): void {
    this.sendNotes()
    for (const stream of ['telemetry', 'history'] as const) {
      for (let rounds = 0; ; rounds++) {
        assert.ok(rounds < 10_000, `${stream} comes to an end`)
        this.deliver(true)
        this.read(stream, 3)
        if (this.#parts.length === 0) break
      }
    }
  }

  /** Returns all records of registered devices, and the position from which each would be sent. */
  stored(): Place[] {
    return [...this.#logged(), ...this.#inBlocks()]
  }

  /** Fails for a record that the hub lacks and will not get, and that no gap reports. */
  assertNothingForgotten(): void {
    const { telemetry } = syncCursors(this.#tables)
    for (const { key, seq } of this.#logged()) {
      assert.ok(this.records.has(key) || (seq ?? 0) > telemetry.seq, `${key} in the log is sent some time`)
    }
    for (const { key, seq } of this.#inBlocks()) {
      assert.ok(this.records.has(key) || seq !== null, `the block of ${key} has an entry`)
    }
  }

  #nextPart(stream: Part['stream'], rows: number): Part | null {
    const request = { after: syncCursors(this.#tables)[stream].seq, limits: { bytes: PART_BYTES, rows } }
    if (stream === 'telemetry') {
      const { part, damagedSeq } = nextLogPart(this.#tools, request)
      assert.equal(damagedSeq, null)
      return part === null ? null : { stream, to: part.to, keys: decodeRuns(part.data).flatMap(keysOf) }
    }
    const { part, damaged } = nextHistoryPart(this.#tools, request)
    assert.equal(damaged, null)
    if (part === null) return null
    const keys = decodeBlocks(part.data).flatMap(({ hardwareId, header, block }) =>
      timesOf(header.kind, block).map((atMs) => `${hardwareId} ${header.kind} ${atMs}`),
    )
    return { stream, to: part.to, keys }
  }

  #acknowledge(stream: Part['stream'] | 'notes', seq: number): void {
    this.#tables.db.transaction(() => acknowledge(this.#tables, { cursors: { [stream]: { seq, hash: HASH } } }))()
  }

  #erase(erase: Erase): void {
    this.#erasures.push(erase)
    for (const key of this.records) if (isOf(erase, key)) this.records.delete(key)
  }

  #isErased(stream: Part['stream'], to: number, key: string): boolean {
    return this.#erasures.some((erase) => {
      const through = stream === 'telemetry' ? erase.telemetry_through : erase.history_through
      return to <= through && isOf(erase, key)
    })
  }

  #logRows(): { firstSeq: number; samples: Uint8Array }[] {
    return this.#tables.all('SELECT first_seq AS firstSeq, samples FROM telemetry_log ORDER BY first_seq')
  }

  #logged(): Place[] {
    const hardwareIds = this.#hardwareIds()
    const places: Place[] = []
    for (const { firstSeq, samples } of this.#logRows()) {
      const batch = decodeBatch(samples)
      for (let i = 0; i < batch.count; i++) {
        const hardwareId = hardwareIds.get(batch.deviceId[i] ?? 0)
        if (hardwareId === undefined) continue
        const has = batch.streams[i] ?? 0
        const seq = firstSeq + i
        if (has & HAS_GPS) places.push({ key: `${hardwareId} gps ${batch.atMs[i]}`, seq })
        if (has & HAS_BATTERY) places.push({ key: `${hardwareId} battery ${batch.atMs[i]}`, seq })
      }
    }
    return places
  }

  #inBlocks(): Place[] {
    const rows = this.#tables.all<{
      hardwareId: string
      stream: TelemetryStream
      records: Uint8Array
      seq: number | null
    }>(
      `SELECT d.hardware_id AS hardwareId, b.stream, b.records, l.seq
       FROM telemetry_block b JOIN device d USING (device_id) LEFT JOIN block_log l USING (block_id)`,
    )
    return rows.flatMap(({ hardwareId, stream, records, seq }) =>
      timesOf(stream, records).map((atMs) => ({ key: `${hardwareId} ${stream} ${atMs}`, seq })),
    )
  }

  #hardwareIds(): Map<number, string> {
    const rows = this.#tables.all<{ id: number; hardwareId: string }>(
      'SELECT device_id AS id, hardware_id AS hardwareId FROM device',
    )
    return new Map(rows.map(({ id, hardwareId }) => [id, hardwareId]))
  }
}

/** True if a gap may include the record. */
export function isInGap(gap: Gap, key: string): boolean {
  const [hardwareId = '', stream, atMs] = key.split(' ')
  const time = Number(atMs)
  return gap.stream === stream && gap.hardware_ids.includes(hardwareId) && time >= gap.from_ms && time <= gap.to_ms
}

function isOf({ hardware_id, kinds }: Erase, key: string): boolean {
  return kinds.some((kind) => key.startsWith(`${hardware_id} ${kind} `))
}

function keysOf({ hardwareId, stream, records }: TelemetryRun): string[] {
  return [...records.atMs].map((atMs) => `${hardwareId} ${stream} ${atMs}`)
}

function timesOf(stream: TelemetryStream, block: Uint8Array): number[] {
  const gps = GPS.allocate(MAX_BLOCK_RECORDS)
  const battery = BATTERY.allocate(MAX_BLOCK_RECORDS)
  const count = stream === 'gps' ? decodeBlock(GPS, block, gps) : decodeBlock(BATTERY, block, battery)
  return [...(stream === 'gps' ? gps : battery).atMs.subarray(0, count)]
}
