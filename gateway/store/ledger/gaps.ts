import type { TelemetryStream } from '#shared/ids.ts'
import type { Gap } from '#shared/wire/replication/sync.ts'
import type { Connection } from '../db/connection.ts'
import { addNote } from './notes.ts'

/** Records deleted before they were acknowledged. */
export interface LostRecords {
  readonly deviceId: number
  readonly stream: TelemetryStream
  readonly firstMs: number
  readonly lastMs: number
  readonly count: number
}

interface Lost {
  fromMs: number
  toMs: number
  count: number
  readonly hardwareIds: Set<string>
}

/** Maximum number of devices named in a gap. */
const NAMED_DEVICES = 100

/** Collects the unsent records that a transaction deletes, for one note a stream, without those of deleted devices. */
export class Gaps {
  readonly #connection: Connection
  readonly #lost = new Map<TelemetryStream, Lost>()
  readonly #hardwareIds = new Map<number, string | undefined>()

  constructor(connection: Connection) {
    this.#connection = connection
  }

  add({ deviceId, stream, firstMs, lastMs, count }: LostRecords): void {
    const hardwareId = this.#hardwareIdOf(deviceId)
    if (hardwareId === undefined) return
    this.#extend(stream, firstMs, lastMs, count).hardwareIds.add(hardwareId)
  }

  /** Adds records whose device is unknown. */
  addUnknown(stream: TelemetryStream, firstMs: number, lastMs: number, count: number): void {
    this.#extend(stream, firstMs, lastMs, count)
  }

  /** Writes the notes, in the transaction that deleted the records. */
  write(reason: Gap['reason'], nowMs: number): void {
    for (const [stream, { fromMs, toMs, count, hardwareIds }] of this.#lost) {
      const hardware_ids = [...hardwareIds].sort().slice(0, NAMED_DEVICES)
      const gap: Gap = { stream, from_ms: fromMs, to_ms: toMs, count, hardware_ids, reason }
      if (!extendUnsentGap(this.#connection, gap, nowMs))
        addNote(this.#connection, { kind: 'gap', atMs: nowMs, body: gap })
    }
    this.#lost.clear()
  }

  #extend(stream: TelemetryStream, firstMs: number, lastMs: number, count: number): Lost {
    const lost = this.#lost.get(stream) ?? {
      fromMs: firstMs,
      toMs: lastMs,
      count: 0,
      hardwareIds: new Set<string>(),
    }
    lost.fromMs = Math.min(lost.fromMs, firstMs)
    lost.toMs = Math.max(lost.toMs, lastMs)
    lost.count += count
    this.#lost.set(stream, lost)
    return lost
  }

  #hardwareIdOf(deviceId: number): string | undefined {
    if (!this.#hardwareIds.has(deviceId)) {
      const row = this.#connection.get<{ hardwareId: string }>(
        'SELECT hardware_id FROM device WHERE device_id = ?',
        deviceId,
      )
      this.#hardwareIds.set(deviceId, row?.hardwareId)
    }
    return this.#hardwareIds.get(deviceId)
  }
}

/** Extends a gap until something is sent: without a hub, deletions happen every few hours. False without a gap. */
function extendUnsentGap(connection: Connection, gap: Gap, nowMs: number): boolean {
  const known = connection.get<{ seq: number; body: string }>(
    `SELECT seq, body FROM note
     WHERE kind = 'gap' AND body ->> 'stream' = ? AND body ->> 'reason' = ?
       AND (SELECT site FROM sync_identity) IS NULL
     ORDER BY seq DESC LIMIT 1`,
    gap.stream,
    gap.reason,
  )
  if (known === undefined) return false
  const before: Gap = JSON.parse(known.body)
  const names = new Set([...before.hardware_ids, ...gap.hardware_ids])
  const body: Gap = {
    ...gap,
    from_ms: Math.min(before.from_ms, gap.from_ms),
    to_ms: Math.max(before.to_ms, gap.to_ms),
    count: before.count + gap.count,
    hardware_ids: [...names].sort().slice(0, NAMED_DEVICES),
  }
  connection.run('UPDATE note SET at_ms = ?, body = ? WHERE seq = ?', nowMs, JSON.stringify(body), known.seq)
  return true
}

/** Enters a block with unacknowledged records in the log of blocks to send to the hub. */
export function logBlock(connection: Connection, blockId: number): void {
  connection.run('INSERT INTO block_log (block_id) VALUES (?)', blockId)
}

/** True if a block must still be sent. A trigger deletes its entry together with the block. */
export function isLogged(connection: Connection, blockId: number): boolean {
  return connection.get('SELECT 1 FROM block_log WHERE block_id = ?', blockId) !== undefined
}
