import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { BackupFault } from '#store/backups/backup-fault.ts'
import { FilePlace } from '#store/backups/file-place.ts'
import { FolderPlace } from '#store/backups/folder-place.ts'
import type { BackupPlace } from '#store/backups/place.ts'
import { isS3Target, type S3Settings, s3AddressOf } from '#store/backups/s3/s3-address.ts'
import { S3Place } from '#store/backups/s3/s3-place.ts'

export interface PlaceOptions {
  /** Folder that a relative name refers to. */
  readonly folder?: string
  /** Accepts a folder only while a disk is mounted there that is not the disk of `dataDir`. */
  readonly mustBeMounted?: boolean
  readonly dataDir?: string
  /** Called only for a bucket. */
  readonly readS3?: () => S3Settings | undefined
}

/**
 * Opens the target that a name means: `s3://bucket/prefix`; a folder with several backups, if one exists there or the
 * name ends in `/`; else a single file. Throws `BackupFault`.
 */
export function backupPlaceOf(
  target: string,
  use: 'read' | 'write',
  { folder = '.', mustBeMounted = false, dataDir, readS3 = () => undefined }: PlaceOptions = {},
): BackupPlace {
  if (isS3Target(target)) return s3PlaceOf(target, readS3())
  const path = resolve(folder, target)
  if (target.endsWith('/') || (existsSync(path) && statSync(path).isDirectory()))
    return new FolderPlace(path, { mustBeMounted, dataDir })
  return use === 'write' ? FilePlace.toWrite(path) : FilePlace.toRead(path)
}

function s3PlaceOf(target: string, settings: S3Settings | undefined): S3Place {
  const address = s3AddressOf(target)
  if (address === null)
    throw new BackupFault(`${target} must be s3://BUCKET/PREFIX of letters, digits, dots, dashes and underscores`)
  if (settings === undefined)
    throw new BackupFault(
      `${target} needs CARTBARN_BACKUP_S3_ENDPOINT, CARTBARN_BACKUP_S3_KEY_ID and CARTBARN_BACKUP_S3_SECRET_FILE`,
    )
  return new S3Place(address, settings)
}
