import { emptyState } from '#domain/latest-state.ts'
import { countRows } from '../backups/database-marks.ts'
import { type RecoveredRows, recoverTable } from '../damage/recover-table.ts'
import type { Key } from '../damage/recovery-keys.ts'
import type { Connection } from '../db/connection.ts'
import { quoted } from '../db/table-sql.ts'
import { forkEpoch } from '../ledger/cursors.ts'
import { migrate } from '../migrate.ts'
import { integrityProblems } from '../replace/new-database.ts'
import { TABLES } from '../tables/all.ts'
import { settleDamagedBlocks } from '../telemetry/damaged-blocks.ts'
import { blockTables } from '../telemetry/detached-blocks.ts'
import type { WriterTables } from '../telemetry/log-tail.ts'
import { saveStates } from '../telemetry/save-states.ts'
import { logAllForSync, recountDevices, removeOrphans, reserveSequenceNumbers } from './after-recovery.ts'
import type { RawPages } from './raw-pages.ts'
import { recoverSubtree } from './recovered-subtree.ts'
import { lostBlocks, type UnreadableBlockRow } from './unreadable-block-rows.ts'

export interface Rebuilt {
  readonly tables: readonly RecoveredRows[]
  /** Telemetry blocks that are lost, as far as is known. */
  readonly lostBlocks: readonly UnreadableBlockRow[]
  /** Number of rows deleted because their parent row is gone, by table. */
  readonly orphans: ReadonlyMap<string, number>
  /** Problems that SQLite finds in the new database; normally none. */
  readonly problems: readonly string[]
}

/** Old database: two connections and its pages. */
export interface SourceDatabase {
  /** Connection that treats a page with a wrong checksum as unreadable. */
  readonly checked: Connection
  /** Connection that ignores page checksums, for tables whose rows have checksums of their own. */
  readonly unchecked: Connection
  readonly pages: RawPages
}

/** Tables to copy first: other tables refer to their rows, or they determine which rows of others are wanted. */
const FIRST = ['device', 'device_group', 'hidden_block']

/**
 * Fills the empty database `to` with the readable content of `old`. Creates the schema by migrations up to the old
 * version, then upgrades it. Begins a new replication epoch. Throws the errors of SQLite if `to` cannot be written.
 */
export function rebuildDatabase(
  old: SourceDatabase,
  to: WriterTables,
  onTable: (recovered: RecoveredRows) => void = () => undefined,
): Rebuilt {
  const from = old.checked
  migrate(to, Number(from.db.pragma('user_version', { simple: true })))
  const tables = copyTables(old, to, onTable)
  migrate(to)
  const isComplete = (...names: string[]) =>
    tables.every((recovered) => recovered.isComplete || !names.includes(recovered.table))
  const orphans = removeOrphans(to)
  to.run(
    `INSERT INTO device_state (device_id, latest, updated_at_ms)
         SELECT device_id, ?, updated_at_ms FROM device WHERE device_id NOT IN (SELECT device_id FROM device_state)`,
    JSON.stringify(emptyState()),
  )
  if (!isComplete('telemetry_block', 'telemetry_log', 'telemetry_log_end', 'device_state')) {
    saveStates(to)
    recountDevices(to)
  }
  settleDamagedBlocks(to)
  logAllForSync(to, isComplete('block_log'))
  forkEpoch(to, { reason: 'repaired' })
  const lost = isComplete('telemetry_block') ? [] : lostBlocks(from, to)
  return { tables, lostBlocks: lost, orphans, problems: problemsOf(to, tables, orphans) }
}

function copyTables(
  old: SourceDatabase,
  to: WriterTables,
  onTable: (recovered: RecoveredRows) => void,
): readonly RecoveredRows[] {
  // triggers would create rows of their own
  const triggers = to.all<{ name: string; sql: string }>(
    "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid",
  )
  for (const { name } of triggers) to.db.exec(`DROP TRIGGER ${quoted(name)}`)
  const singles = keepDefaults(to)
  const recovered = tablesOf(to).map((table) => {
    to.db.exec(`DELETE FROM ${quoted(table)}`)
    const one = table === 'telemetry_block' ? recoverBlocks(old, to) : recoverAll(old, to, table)
    onTable(one)
    return one
  })
  // the new database has no detached tables with blocks
  if (tablesOf(to).includes('hidden_block')) to.db.exec('DELETE FROM hidden_block')
  for (const single of singles) single()
  reserveSequenceNumbers(old.checked, to, recovered)
  for (const { sql } of triggers) to.db.exec(sql)
  return recovered
}

/** Recovers rows with SQLite as far as possible, then from the pages that it cannot reach. */
function recoverAll(
  { checked, unchecked, pages }: SourceDatabase,
  to: Connection,
  table: string,
  source = table,
  isWanted: (key: Key) => boolean = () => true,
): RecoveredRows {
  const takesWrong = TABLES.get(table)?.care.hasOwnSums === true
  const recovered = recoverTable(takesWrong ? unchecked : checked, to, table, source, isWanted)
  if (!recovered.unreadable.some((one) => 'after' in one) || !pages.isOurForm) return recovered
  const root = checked.get<{ root: number }>(
    "SELECT rootpage AS root FROM sqlite_schema WHERE name = ? AND type = 'table'",
    source,
  )?.root
  return root === undefined ? recovered : recoverSubtree(pages, to, recovered, { root, takesWrong, isWanted })
}

/** Merges the table of blocks with the detached ones; of a block that is in two, the newer one counts. */
function recoverBlocks(old: SourceDatabase, to: Connection): RecoveredRows {
  const [newest = 'telemetry_block', ...detachedTables] = blockTables(old.checked)
  const first = recoverAll(old, to, newest)
  if (detachedTables.length === 0) return first
  const isStored = to.statement('SELECT 1 FROM telemetry_block WHERE block_id = ?')
  const isHidden = to.statement('SELECT 1 FROM hidden_block WHERE block_id = ?')
  const isWanted = ([blockId = null]: Key) => isHidden.get(blockId) === undefined && isStored.get(blockId) === undefined
  const others = detachedTables.reverse().map((detached) => recoverAll(old, to, 'telemetry_block', detached, isWanted))
  const all = [first, ...others]
  return {
    table: first.table,
    rows: all.reduce((sum, { rows }) => sum + rows, 0),
    unreadable: all.flatMap(({ unreadable }) => unreadable),
    refused: all.flatMap(({ refused }) => refused),
    isComplete: all.every(({ isComplete }) => isComplete),
  }
}

function tablesOf(to: Connection): string[] {
  const names = to
    .all<{ name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid",
    )
    .map(({ name }) => name)
  return [...FIRST.filter((name) => names.includes(name)), ...names.filter((name) => !FIRST.includes(name))]
}

/** Reads the rows that migrations create; each returned function inserts one if it is missing. */
function keepDefaults(to: Connection): (() => void)[] {
  const tables = tablesOf(to).filter((table) => to.get(`SELECT 1 FROM ${quoted(table)}`) !== undefined)
  return tables.map((table) => {
    to.db.exec(`CREATE TEMP TABLE "default_${table}" AS SELECT * FROM ${quoted(table)}`)
    return () => {
      if (to.get(`SELECT 1 FROM ${quoted(table)}`) === undefined)
        to.db.exec(`INSERT INTO ${quoted(table)} SELECT * FROM "default_${table}"`)
      to.db.exec(`DROP TABLE "default_${table}"`)
    }
  })
}

function problemsOf(to: Connection, tables: readonly RecoveredRows[], orphans: ReadonlyMap<string, number>): string[] {
  const broken = to
    .all<{ table: string }>('PRAGMA foreign_key_check')
    .map(({ table }) => `${table}: a row belongs to one that is not there`)
  const names = new Set(tablesOf(to))
  const miscounted = tables
    .filter(({ table }) => names.has(table) && !RECREATED.has(table))
    .filter(({ table, rows }) => rows - (orphans.get(table) ?? 0) !== countRows(to, table))
    .map(({ table }) => `${table}: it does not have as many rows as were copied`)
  return [...integrityProblems(to), ...broken, ...miscounted]
}

/** Tables whose rows are created again, or added to the copied ones. */
const RECREATED = new Set([
  'device_state',
  'change_log',
  'block_log',
  'note',
  'sync_identity',
  'sync_cursor',
  'clock_mark',
  'config_version',
  'command_count',
  'telemetry_log_end',
  'telemetry_block',
  'hidden_block',
  'migration',
])
