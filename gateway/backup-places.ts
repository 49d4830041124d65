import { existsSync, statSync } from 'node:fs'
import { FilePlace } from '#store/backups/file-place.ts'
import { FolderPlace } from '#store/backups/folder-place.ts'
import type { BackupPlace } from '#store/backups/place.ts'

/** What a place of backups needs besides its name. */
export interface PlaceOptions {
  /** A folder counts only while a disk is mounted there. */
  readonly mustBeMounted?: boolean
}

/** The place that a person means: a folder with many backups, where one is or the name ends in `/`; else one file. */
export function backupPlaceOf(
  target: string,
  use: 'read' | 'write',
  { mustBeMounted = false }: PlaceOptions = {},
): BackupPlace {
  if (target.endsWith('/') || (existsSync(target) && statSync(target).isDirectory()))
    return new FolderPlace(target, mustBeMounted)
  return use === 'write' ? FilePlace.toWrite(target) : FilePlace.toRead(target)
}
