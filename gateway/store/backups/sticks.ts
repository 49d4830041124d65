import { closeSync, constants, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { HEADER } from './backup-set.ts'
import { MAGIC } from './file-place.ts'
import { mountFault } from './mount.ts'

/** Folders where systems mount sticks: directly, or in a folder of the user. */
const MOUNT_ROOTS: readonly string[] = ['/media', '/run/media', '/mnt']
/** Depth of a set below these: user, stick, folder. */
const DEEPEST = 3
/** Limit of examined names, for a disk with very many. */
const MOST_NAMES = 5_000

/** Returns the paths of backup sets and backup files on disks that are mounted and not the disk of `dataDir`. */
export function backupsOnSticks(dataDir: string, roots: readonly string[] = MOUNT_ROOTS): string[] {
  const found: string[] = []
  let names = 0
  const look = (folder: string, depth: number): void => {
    const isOnStick = mountFault(folder, { mustBeMounted: true, dataDir }) === null
    for (const entry of entriesOf(folder)) {
      if (++names > MOST_NAMES) return
      const path = join(folder, entry.name)
      if (entry.isDirectory()) {
        if (depth < DEEPEST) look(path, depth + 1)
      } else if (isOnStick && entry.isFile()) {
        if (entry.name === HEADER) found.push(folder)
        else if (isBackupFile(path)) found.push(path)
      }
    }
  }
  for (const root of roots) look(root, 0)
  return found.sort()
}

/** Returns the entries of a folder; none if it is missing or another user's. Links are not followed. */
function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

function isBackupFile(path: string): boolean {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const start = Buffer.alloc(MAGIC.length)
      return readSync(file, start, 0, start.length, 0) === start.length && start.equals(MAGIC)
    } finally {
      closeSync(file)
    }
  } catch {
    return false
  }
}
