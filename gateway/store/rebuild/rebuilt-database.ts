import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { SyncIdentity } from '#shared/sync-source.ts'
import { decodeBlocks } from '#shared/telemetry/blocks.ts'
import {
  REBUILD_KINDS,
  type RebuildKind,
  type RebuildPage,
  rebuildEntitySchema,
} from '#shared/wire/replication/rebuild.ts'
import type { SyncCursors, SyncStream } from '#shared/wire/replication/sync.ts'
import type { Connection } from '../db/connection.ts'
import { claimSite, syncIdentity } from '../ledger/cursors.ts'
import { migrate } from '../migrate.ts'
import { replaceDatabase } from '../replace/replace-database.ts'
import { adoptCursors } from '../replication/acknowledge.ts'
import { dropIncompleteContent } from '../tables/course.ts'
import { insertBlock } from '../telemetry/blocks.ts'
import { syncEnds } from '../telemetry/stream-positions.ts'
import { openForSetup } from '../writer/open.ts'
import { putEntity, putEvent } from './rows.ts'

/** Name of the unfinished database; a start ignores it. */
const UNFINISHED = 'cartbarn-from-upstream.db'

/** Progress: the kind being fetched and the position in it; no kind once all are fetched. */
export interface RebuildProgress {
  readonly site: string
  readonly kind: RebuildKind | null
  readonly after: string | null
  /** Time before which no records are fetched: the same in each attempt, to avoid holes. */
  readonly sinceMs: number
  /** Number of rows stored so far. */
  readonly rows: number
  readonly records: number
}

/** Reference for new configuration versions: devices accept only rising ones, and those published are unknown. */
const VERSIONS_SINCE_MS = Date.UTC(2020, 0, 1)
const MINUTE_MS = 60_000

/** Database rebuilt from a hub; each page and the progress are one transaction, so a killed attempt can continue. */
export class RebuiltDatabase {
  readonly #dataDir: string
  readonly connection: Connection

  /** Opens the database of an earlier attempt, or creates it. The folder must be locked. */
  constructor(dataDir: string) {
    this.#dataDir = dataDir
    const tables = openForSetup(join(dataDir, UNFINISHED))
    this.connection = tables
    try {
      migrate(tables)
      tables.db.pragma('foreign_keys = OFF')
      // no other thread makes checkpoints here
      tables.db.pragma('wal_autocheckpoint = 4000')
      tables.db.exec(
        `CREATE TABLE IF NOT EXISTS rebuild_progress (only INTEGER PRIMARY KEY CHECK (only = 1), site TEXT NOT NULL,
           kind TEXT, after TEXT, since_ms INTEGER NOT NULL, rows INTEGER NOT NULL, records INTEGER NOT NULL)`,
      )
    } catch (error) {
      tables.close()
      throw error
    }
  }

  /** True if an attempt was started in this folder. */
  static isBegun(dataDir: string): boolean {
    return existsSync(join(dataDir, UNFINISHED))
  }

  get progress(): RebuildProgress | undefined {
    return this.connection.get<RebuildProgress>(
      'SELECT site, kind, after, since_ms, rows, records FROM rebuild_progress',
    )
  }

  begin(site: string, sinceMs: number): RebuildProgress {
    const progress = { site, kind: REBUILD_KINDS[0], after: null, sinceMs, rows: 0, records: 0 }
    this.#setProgress(progress)
    return progress
  }

  /** Stores a page of the current kind. Throws if it cannot be stored. */
  take(page: RebuildPage): RebuildProgress {
    return this.connection.db.transaction(() => {
      const known = this.progress
      if (known === undefined || known.kind === null) throw new Error('no page is expected')
      const { kind, rows, records } = known
      const isTelemetry = kind === 'gps' || kind === 'battery'
      const stored = isTelemetry ? this.#takeRecords(page) : this.#takeRows(kind, page)
      const next = page.next ?? null
      const progress = {
        ...known,
        kind: next === null ? kindBehind(kind) : kind,
        after: next,
        rows: rows + (isTelemetry ? 0 : stored),
        records: records + (isTelemetry ? stored : 0),
      }
      this.#setProgress(progress)
      return progress
    })()
  }

  /** Identity to report to the hub. */
  identity(): SyncIdentity & { ends: Record<SyncStream, number> } {
    return { ...syncIdentity(this.connection), ends: syncEnds(this.connection) }
  }

  /** Derives data from the rows; called before the ends of the streams are reported to the hub. Can be repeated. */
  complete(nowMs: number): void {
    const { connection } = this
    connection.db.transaction(() => {
      countRecords(connection)
      dropIncompleteContent(connection)
      for (const [table, time] of IN_ORDER) renumber(connection, table, time)
      connection.run(
        'INSERT OR REPLACE INTO command_count (command_count_id, commands) SELECT 1, count(*) FROM command',
      )
      connection.run(
        'INSERT OR REPLACE INTO config_version (config_version_id, version) VALUES (1, ?)',
        Math.max(1000, Math.floor((nowMs - VERSIONS_SINCE_MS) / MINUTE_MS)),
      )
      const orphans = connection.all<{ table: string }>('PRAGMA foreign_key_check')
      if (orphans.length > 0) throw new Error(`rows of ${orphans[0]?.table} refer to rows that the hub does not have`)
    })()
  }

  /** Stores the hub's cursors and the writes of `also`, all or nothing; the database is a gateway's from then on. */
  settle(
    { site, cursors, forkedFrom }: { site: string; cursors: SyncCursors; forkedFrom: SyncIdentity['forkedFrom'] },
    also: (connection: Connection) => void,
  ): void {
    const { connection } = this
    connection.db.transaction(() => {
      adoptCursors(connection, { cursors })
      claimSite(connection, { site })
      connection.run('UPDATE sync_identity SET forked_from = ?', JSON.stringify(forkedFrom))
      also(connection)
    })()
  }

  close(): void {
    this.connection.close()
  }

  /** Closes the database and renames it, so that a start finds it complete. */
  putInPlace(): void {
    const { connection } = this
    connection.run('DROP TABLE rebuild_progress')
    connection.db.pragma('wal_checkpoint(TRUNCATE)')
    connection.close()
    replaceDatabase(this.#dataDir, join(this.#dataDir, UNFINISHED), null)
  }

  #takeRows(kind: Exclude<RebuildKind, 'gps' | 'battery'>, { content }: RebuildPage): number {
    const rows: unknown = JSON.parse(content)
    if (!Array.isArray(rows)) throw new Error('a page from the hub has no rows')
    for (const row of rows) {
      if (kind === 'entities' || kind === 'audit_entries') putEntity(this.connection, rebuildEntitySchema.parse(row))
      else putEvent(this.connection, kind, row)
    }
    return rows.length
  }

  #takeRecords({ content }: RebuildPage): number {
    return content === '' ? 0 : putBlocks(this.connection, Buffer.from(content, 'base64'))
  }

  #setProgress({ site, kind, after, sinceMs, rows, records }: RebuildProgress): void {
    this.connection.run(
      'INSERT OR REPLACE INTO rebuild_progress (only, site, kind, after, since_ms, rows, records) VALUES (1, ?, ' +
        '?, ?, ?, ?, ?)',
      site,
      kind,
      after,
      sinceMs,
      rows,
      records,
    )
  }
}

/** Tables whose numbers follow the time, while the hub returns their rows by key. */
const IN_ORDER = [
  ['command', 'created_at_ms'],
  ['alert', 'opened_at_ms'],
] as const

function renumber(connection: Connection, table: string, time: string): void {
  connection.run(
    `UPDATE ${table} SET seq = -place.number FROM
       (SELECT seq AS old, row_number() OVER (ORDER BY ${time}, seq) AS number FROM ${table}) AS place
     WHERE seq = place.old`,
  )
  connection.run(`UPDATE ${table} SET seq = -seq WHERE seq < 0`)
}

function kindBehind(kind: RebuildKind): RebuildKind | null {
  return REBUILD_KINDS[REBUILD_KINDS.indexOf(kind) + 1] ?? null
}

/**
 * Stores blocks from the hub after all existing ones of their device and stream; returns the number of records. Skips
 * blocks of devices that the hub has not named: no request could reach them. Throws `DamagedBlockError`.
 */
function putBlocks(connection: Connection, bytes: Uint8Array): number {
  let records = 0
  for (const { hardwareId, block, header } of decodeBlocks(bytes)) {
    const device = connection.get<{ deviceId: number }>(
      'SELECT device_id FROM device WHERE hardware_id = ?',
      hardwareId,
    )
    if (device === undefined) continue
    const { kind: stream, firstMs, lastMs, count } = header
    insertBlock(connection, { deviceId: device.deviceId, stream }, { firstMs, lastMs, count, records: block })
    records += count
  }
  return records
}

/** Sets the record counts in the states of devices from the stored blocks. */
function countRecords(connection: Connection): void {
  for (const stream of ['gps', 'battery'])
    connection.run(
      `UPDATE device_state SET (${stream}_count, ${stream}_first_ms, ${stream}_last_ms) =
         (SELECT ifnull(sum(count), 0), min(first_ms), max(last_ms) FROM telemetry_block b
           WHERE b.device_id = device_state.device_id AND b.stream = ?)`,
      stream,
    )
}
