import { randomBytes } from 'node:crypto'
import { RowHashSum } from '#shared/sync-hash.ts'
import type { PartLimits, StreamBacklog, StreamPart, SyncIdentity, SyncSourcePort } from '#shared/sync-source.ts'
import { NO_CURSOR, SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import type { AuditGroup, AuditKind, SyncCursor, SyncCursors, SyncStream } from '#shared/wire/replication/sync.ts'

/** Row of any stream, as these tests use them. */
export interface TestRow {
  readonly seq: number
  readonly id: string
  readonly group: string
  readonly day: number
}

/** Stream of the rows of each kind; here telemetry is GPS only. */
export const STREAM_OF: Partial<Record<AuditKind, SyncStream>> = {
  gps: 'telemetry',
  lock_events: 'lock_events',
  geofence_events: 'geofence_events',
  notes: 'notes',
}

/** Data of a gateway in memory; exactly this survives a crash. */
export class MemorySource implements SyncSourcePort {
  readonly rows: Record<SyncStream, TestRow[]>
  readonly #clock: { nowMs(): number }
  #identity: SyncIdentity = { epoch: newEpoch(), site: null, forkedFrom: null }
  #ends: Record<SyncStream, number>
  #cursors: SyncCursors
  /** Number of calls of each method. */
  readonly calls = { acknowledge: 0, adopt: 0, fork: 0 }
  #ids = 0

  constructor(clock: { nowMs(): number }) {
    this.#clock = clock
    this.rows = byStream((): TestRow[] => [])
    this.#ends = byStream(() => 0)
    this.#cursors = byStream(() => NO_CURSOR)
  }

  /** Appends rows, with occasional gaps in the positions, as rolled back transactions leave them. */
  append(stream: SyncStream, count = 1, { group = 'cart-1', day = 0 } = {}): void {
    for (let n = 0; n < count; n++) {
      this.#ends[stream] += this.#ids % 5 === 0 ? 2 : 1
      this.rows[stream].push({ seq: this.#ends[stream], id: `${stream}-${this.#ids++}`, group, day })
    }
  }

  /** Copies everything, like a backup. */
  copy(): MemorySource {
    const copy = new MemorySource(this.#clock)
    for (const stream of SYNC_STREAMS) copy.rows[stream].push(...this.rows[stream])
    copy.#identity = this.#identity
    copy.#ends = { ...this.#ends }
    copy.#cursors = { ...this.#cursors }
    // rows that the copy gets from now on have ids of their own
    copy.#ids = this.#ids + 1_000_000
    return copy
  }

  identity(): SyncIdentity {
    return this.#identity
  }

  ends(): Record<SyncStream, number> {
    return { ...this.#ends }
  }

  cursors(): SyncCursors {
    return this.#cursors
  }

  async nextPart(stream: SyncStream, after: number, { rows, bytes }: PartLimits): Promise<StreamPart | null> {
    const part: TestRow[] = []
    let size = 2
    for (const row of this.rows[stream].filter(({ seq }) => seq > after)) {
      size += JSON.stringify(row).length + 1
      if (part.length > 0 && (part.length >= rows || size > bytes)) break
      part.push(row)
    }
    const last = part.at(-1)
    return last === undefined ? null : toPart(part, last.seq, this.#clock.nowMs())
  }

  async acknowledge(cursors: Partial<Record<SyncStream, SyncCursor>>): Promise<void> {
    this.calls.acknowledge++
    this.#cursors = { ...this.#cursors, ...cursors }
  }

  async adopt(cursors: SyncCursors): Promise<void> {
    this.calls.adopt++
    this.#cursors = { ...cursors }
  }

  async fork(reason: string): Promise<SyncIdentity> {
    this.calls.fork++
    const { epoch, site } = this.#identity
    this.#identity = { epoch: newEpoch(), site, forkedFrom: { epoch, reason } }
    this.#cursors = byStream(() => NO_CURSOR)
    return this.#identity
  }

  async queueAll(): Promise<void> {
    // this source sends nothing in chunks
  }

  async claim(site: string): Promise<void> {
    this.#identity = { ...this.#identity, site }
  }

  async backlog(): Promise<Record<SyncStream, StreamBacklog>> {
    return Object.fromEntries(
      SYNC_STREAMS.map((stream) => {
        const rows = this.rows[stream].filter(({ seq }) => seq > this.#cursors[stream].seq).length
        return [stream, { rows, oldestMs: rows === 0 ? null : 0 }]
      }),
      // contains one value for each stream
    ) as Record<SyncStream, StreamBacklog>
  }

  async auditDays(kind: AuditKind): Promise<readonly (number | null)[]> {
    const days = this.#rowsOf(kind).map(({ day }) => day)
    return [...new Set(days)].sort((a, b) => a - b)
  }

  async auditGroups(kind: AuditKind, dayMs: number | null): Promise<readonly AuditGroup[]> {
    return groupsOf(this.#rowsOf(kind).filter(({ day }) => day === dayMs))
  }

  async *resendParts(kind: AuditKind, dayMs: number | null, group: string): AsyncIterable<StreamPart> {
    const rows = this.#rowsOf(kind).filter((row) => row.day === dayMs && row.group === group)
    for (let at = 0; at < rows.length; at += 3) yield toPart(rows.slice(at, at + 3), 0, this.#clock.nowMs())
  }

  #rowsOf(kind: AuditKind): readonly TestRow[] {
    const stream = STREAM_OF[kind]
    return stream === undefined ? [] : this.rows[stream]
  }
}

/** The time of a row: later positions are later. */
export function atMsOf({ day, seq }: TestRow): number {
  return day + seq
}

/** Count and sum by group, and the time of the newest row. */
export function groupsOf(rows: readonly TestRow[]): AuditGroup[] {
  const sums = new Map<string, { sum: RowHashSum; through_ms: number }>()
  for (const row of rows) {
    const { sum, through_ms } = sums.get(row.group) ?? { sum: new RowHashSum(), through_ms: row.day }
    sum.addText(row.id)
    sums.set(row.group, { sum, through_ms: Math.max(through_ms, atMsOf(row)) })
  }
  return [...sums].map(([group, { sum, through_ms }]) => ({ group, count: sum.count, sum: sum.toString(), through_ms }))
}

export function byStream<Value>(make: (stream: SyncStream) => Value): Record<SyncStream, Value> {
  const record = Object.fromEntries(SYNC_STREAMS.map((stream) => [stream, make(stream)]))
  // contains one value for each stream
  return record as Record<SyncStream, Value>
}

function toPart(rows: readonly TestRow[], to: number, oldestMs: number): StreamPart {
  return { to, count: rows.length, encoding: 'rows-1', data: Buffer.from(JSON.stringify(rows)), oldestMs }
}

function newEpoch(): string {
  return randomBytes(16).toString('hex')
}
