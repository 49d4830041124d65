import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { FolderLock } from '#hub/store/database/folder-lock.ts'
import { PgliteDatabase, SUCCESSOR } from '#hub/store/database/pglite.ts'
import { describeError } from '#shared/errors.ts'

const DATABASE = 'postgres'
const UNFINISHED = 'restore-unfinished'

interface Counted {
  sites: number
  users: number
}

/**
 * Writes the embedded database of a hub into a new file, and reads it back: other requests wait for the first part. All
 * of it is in memory meanwhile. Returns what to print. Throws an `Error` in words.
 */
export async function backUpHub(database: unknown, path: string): Promise<string> {
  if (!(database instanceof PgliteDatabase))
    throw new Error('the hub is on PostgreSQL: back that up with pg_dump, see docs/head-office.md')
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
    // what is on the disk, not what is in memory
    const counted = await countIn(readFileSync(part))
    renameSync(part, path)
    syncFolder(dirname(path))
    return `${path} has ${bytes.length.toLocaleString('en-US')} bytes: ${inWords(counted)}. It holds hashes of keys and all data: keep it where nobody else reads it.\n`
  } catch (error) {
    rmSync(part, { force: true })
    throw new Error(`the backup ${path} cannot be made: ${describeError(error)}`, { cause: error })
  }
}

/**
 * Puts the database of a backup into the place of the one in the folder, which is kept beside it. The hub must be stopped.
 * Returns what to print. Throws an `Error` in words; then nothing was changed.
 */
export async function restoreHub(dataDir: string, path: string, atMs: number): Promise<string> {
  const backup = readBackup(path)
  // what is no backup is told before anything is touched
  const counted = await countIn(backup).catch((error: unknown) => {
    throw new Error(`${path} is no whole backup of a hub (${describeError(error)}); nothing was changed`, {
      cause: error,
    })
  })
  const work = join(dataDir, UNFINISHED)
  // makes the folder and takes its lock, unless a hub has it
  const unpacked = new PgliteDatabase(dataDir, new Blob([backup]), UNFINISHED)
  rmSync(work, { recursive: true, force: true })
  await unpacked.start()
  await unpacked.stop()
  const lock = new FolderLock(dataDir)
  lock.take()
  try {
    const current = join(dataDir, DATABASE)
    const kept = join(dataDir, `postgres-before-${new Date(atMs).toISOString().replace(/[:.]/g, '-')}`)
    const hadOne = existsSync(current)
    const successor = join(dataDir, SUCCESSOR)
    rmSync(successor, { recursive: true, force: true })
    renameSync(work, successor)
    syncFolder(dataDir)
    if (hadOne) renameSync(current, kept)
    // cut off here, the next start does it
    renameSync(successor, current)
    syncFolder(dataDir)
    const before = hadOne ? ` The one that was there is kept in ${kept}.` : ''
    return `${dataDir} has the database of the backup: ${inWords(counted)}.${before} Start the hub: each gateway compares its data with it and sends what it lacks.\n`
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
    const counted = await database.get<Counted>(
      'SELECT (SELECT COUNT(*) FROM site) AS sites, (SELECT COUNT(*) FROM hub_user) AS users',
    )
    return counted ?? { sites: 0, users: 0 }
  } finally {
    await database.stop()
  }
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
