import { constants, copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { syncPath } from '#shared/files/durable.ts'
import { freeBytesIn, megabytes } from '#shared/files/free-space.ts'
import { programVersion } from '#shared/version.ts'
import type { BackupBefore } from './program-record.ts'

/** In the data folder: where databases from before upgrades are. */
export const BACKUPS = 'backups'
/** So many are kept. */
const KEPT = 2
const NAME = /^before-.+-\d{8}T\d{6}Z\.db$/
const UNFINISHED = '-unfinished'
/** What migrations may need beside the copy, so that the disk is not full right after it. */
const RESERVE_BYTES = 64_000_000

/** What a backup is made of, and with what. */
export interface BackupRequest {
  dataDir: string
  /** The database, which nobody else has open and whose log is empty. */
  path: string
  schema: number
  atMs: number
}

/**
 * Copies the database as it is before migrations into `backups`, and keeps the newest two of such copies. Killed at any
 * moment there is a whole one under its name or none. Throws an `Error` in words when there is not enough space.
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

/** Whether a backup is there, and the database is still the one it was made of. */
export function isCurrent(dataDir: string, backup: BackupBefore, path: string): boolean {
  const { size, mtimeMs } = statSync(path)
  return size === backup.bytes && mtimeMs === backup.modifiedAtMs && existsSync(join(dataDir, BACKUPS, backup.file))
}

function keepNewest(folder: string, many: number): void {
  const names = readdirSync(folder).filter((name) => NAME.test(name))
  // not by the version in the name: 0.10.0 comes after 0.9.0
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
    `not enough space for the backup before the upgrade: it needs ${megabytes(neededBytes)} and ${megabytes(freeBytes)} are free in ${dataDir}. ` +
      `Free some and start again; or go on with the version before; or copy ${dataDir} to another disk and start once with CARTBARN_BACKUP_BEFORE_UPGRADE=false`,
  )
}

function compactTime(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`
}
