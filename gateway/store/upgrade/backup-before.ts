import { constants, copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { syncPath } from '#shared/files/durable.ts'
import { freeBytesIn, megabytes } from '#shared/files/free-space.ts'
import { programVersion } from '#shared/version.ts'
import type { BackupBefore } from './program-record.ts'

/** Folder in the data folder for databases from before upgrades. */
export const BACKUPS = 'backups'
const KEPT = 2
const NAME = /^before-.+-\d{8}T\d{6}Z\.db$/
const UNFINISHED = '-unfinished'
/** Space that migrations may need in addition to the copy, so that they do not fill the disk. */
const RESERVE_BYTES = 64_000_000

export interface BackupRequest {
  dataDir: string
  /** Path of the database; no other connection has it open, and its log is empty. */
  path: string
  schema: number
  atMs: number
}

/**
 * Copies the database into `backups` before migrations, and keeps the newest two copies. After a kill, a copy is whole
 * or absent. Throws an `Error` with a readable message if there is not enough space.
 */
export function backUpBefore({ dataDir, path, schema, atMs }: BackupRequest): BackupBefore {
  const folder = join(dataDir, BACKUPS)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const name of readdirSync(folder)) if (name.endsWith(UNFINISHED)) rmSync(join(folder, name), { force: true })
  const { size: bytes, mtimeMs: modifiedAtMs } = statSync(path)
  requireSpace(dataDir, bytes)
  const file = `before-${programVersion()}-${compactTime(atMs)}.db`
  const unfinished = join(folder, file + UNFINISHED)
  try {
    copyFileSync(path, unfinished, constants.COPYFILE_FICLONE)
    syncPath(unfinished)
    renameSync(unfinished, join(folder, file))
    syncPath(folder)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw error
  }
  keepNewest(folder, KEPT)
  return { file, schema, bytes, modifiedAtMs }
}

/** True if a backup exists and its source database has not changed since. */
export function isCurrent(dataDir: string, backup: BackupBefore, path: string): boolean {
  const { size, mtimeMs } = statSync(path)
  return size === backup.bytes && mtimeMs === backup.modifiedAtMs && existsSync(join(dataDir, BACKUPS, backup.file))
}

function keepNewest(folder: string, many: number): void {
  const names = readdirSync(folder).filter((name) => NAME.test(name))
  // not by the version in the name: 0.10.0 follows 0.9.0
  const byTime = names.toSorted((a, b) => timeIn(a).localeCompare(timeIn(b)))
  for (const name of byTime.slice(0, Math.max(0, byTime.length - many))) rmSync(join(folder, name))
}

function timeIn(name: string): string {
  return name.slice(-'20260101T000000Z.db'.length)
}

function requireSpace(dataDir: string, bytes: number): void {
  const neededBytes = bytes + RESERVE_BYTES
  const freeBytes = freeBytesIn(dataDir)
  if (freeBytes >= neededBytes) return
  throw new Error(
    `not enough space for the backup before the upgrade: it needs ${megabytes(neededBytes)} and ` +
      `${megabytes(freeBytes)} are free in ${dataDir}. ` +
      `Free some and start again; or continue with the previous version; or copy ${dataDir} to another disk and ` +
      'start once with CARTBARN_BACKUP_BEFORE_UPGRADE=false',
  )
}

function compactTime(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`
}
