import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { FolderLock } from '#hub/store/database/folder-lock.ts'
import { NEXT_DATABASE, PgliteDatabase } from '#hub/store/database/pglite.ts'
import { schemaTables } from '#hub/store/database/schema.ts'
import { describeError } from '#shared/errors.ts'

const DATABASE = 'postgres'
const UNFINISHED = 'restore-unfinished'

interface Counted {
  sites: number
  users: number
}

/**
 * Writes the embedded database of a hub into a new file, and reads it back. Other requests wait while it is dumped. The
 * whole archive is in memory meanwhile. Returns the text to print. Throws an `Error` with a readable message.
 */
export async function backUpHub(database: unknown, path: string): Promise<string> {
  if (!(database instanceof PgliteDatabase))
    throw new Error('the hub is on PostgreSQL: back that up with pg_dump, see docs/hub.md')
  const part = `${path}.part`
  try {
    if (existsSync(path)) throw new Error('it exists')
    const bytes = new Uint8Array(await (await database.dump()).arrayBuffer())
    const file = openSync(part, 'w', 0o600)
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    // verifies the data on the disk, not that in memory
    const counted = await countIn(readFileSync(part))
    renameSync(part, path)
    syncFolder(dirname(path))
    return (
      `${path} has ${bytes.length.toLocaleString('en-US')} bytes: ${inWords(counted)}. It holds hashes of keys ` +
      `and all data: keep it where no other user can read it.\n`
    )
  } catch (error) {
    rmSync(part, { force: true })
    throw new Error(`the backup ${path} could not be written: ${describeError(error)}`, { cause: error })
  }
}

/**
 * Replaces the database in the folder with that of a backup; the old one is kept next to it. The hub must be stopped.
 * Returns the text to print. Throws an `Error` with a readable message; then nothing was changed.
 */
export async function restoreHub(dataDir: string, path: string, atMs: number): Promise<string> {
  const backup = readBackup(path)
  const work = join(dataDir, UNFINISHED)
  // in memory, so that any code in the backup cannot reach the disk
  const source = new PgliteDatabase(undefined, new Blob([backup]))
  let counted: Counted
  try {
    // a file that is not a backup is reported before anything changes
    counted = await source
      .start()
      .then(() => countRows(source))
      .catch((error: unknown) => {
        throw new Error(`${path} is not a complete backup of a hub (${describeError(error)}); nothing was changed`, {
          cause: error,
        })
      })
    // creates the folder and takes its lock, unless a hub holds it
    const restored = new PgliteDatabase(dataDir, undefined, UNFINISHED)
    rmSync(work, { recursive: true, force: true })
    try {
      await restored.start()
      await copyRows(source, restored)
    } finally {
      await restored.stop()
    }
  } finally {
    await source.stop()
  }
  const lock = new FolderLock(dataDir)
  lock.take()
  try {
    const current = join(dataDir, DATABASE)
    const kept = join(dataDir, `postgres-before-${new Date(atMs).toISOString().replace(/[:.]/g, '-')}`)
    const hadOne = existsSync(current)
    const successor = join(dataDir, NEXT_DATABASE)
    rmSync(successor, { recursive: true, force: true })
    renameSync(work, successor)
    syncFolder(dataDir)
    if (hadOne) renameSync(current, kept)
    // if interrupted here, the next start completes it
    renameSync(successor, current)
    syncFolder(dataDir)
    const before = hadOne ? ` The one that was there is kept in ${kept}.` : ''
    return (
      `${dataDir} has the database of the backup: ${inWords(counted)}.${before} Start the hub: each gateway ` +
      `compares its data with it and sends what it lacks.\n`
    )
  } finally {
    lock.release()
  }
}

function readBackup(path: string): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(readFileSync(path))
  } catch (error) {
    throw new Error(`${path} cannot be read: ${describeError(error)}`, { cause: error })
  }
}

async function countIn(backup: Uint8Array<ArrayBuffer>): Promise<Counted> {
  const database = new PgliteDatabase(undefined, new Blob([backup]))
  try {
    await database.start()
    return await countRows(database)
  } finally {
    await database.stop()
  }
}

async function countRows(database: PgliteDatabase): Promise<Counted> {
  const counted = await database.get<Counted>(
    'SELECT (SELECT COUNT(*) FROM site) AS sites, (SELECT COUNT(*) FROM hub_user) AS users',
  )
  return counted ?? { sites: 0, users: 0 }
}

/**
 * Copies the rows of all tables into a new database. A backup may have been altered: triggers, functions, rules and
 * other tables are not copied. Throws if a table is missing, is not a plain table or has other columns.
 */
async function copyRows(from: PgliteDatabase, to: PgliteDatabase): Promise<void> {
  for (const table of schemaTables()) {
    const columns = await columnsOf(to, table)
    const given = await columnsOf(from, table)
    if (columns.length !== given.length || columns.some((column) => !given.includes(column)))
      throw new Error(`the backup is not of a hub of this version: table ${table} has other columns`)
    // a new database has the version of its schema
    await to.run(`DELETE FROM ${table}`)
    await to.copyIn(table, columns, await from.copyOut(table, columns))
  }
}

/** Returns the columns of a plain table: not of a view, and without generated columns. */
async function columnsOf(database: PgliteDatabase, table: string): Promise<string[]> {
  const rows = await database.all<{ name: string }>(
    `SELECT a.attname AS name FROM pg_catalog.pg_attribute a
       JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
       JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = 'public' AND c.relname = $1 AND c.relkind = 'r'
       AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attname`,
    [table],
  )
  return rows.map(({ name }) => name)
}

function inWords({ sites, users }: Counted): string {
  return `${sites} sites and ${users} users`
}

function syncFolder(folder: string): void {
  const file = openSync(folder, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
