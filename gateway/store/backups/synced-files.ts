import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** Brings a file, or the names in a folder, to the disk. */
function syncPath(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** The names in a folder, where the file system can: some on sticks cannot, and write them with the file. */
export function syncNames(folder: string): void {
  try {
    syncPath(folder)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && ['EINVAL', 'ENOTSUP'].includes(String(error.code))))
      throw error
  }
}

/** Puts a small file in the place of one that may be there: after a power cut one or the other is whole. */
export function replaceFile(path: string, content: string): void {
  const temporary = `${path}.tmp`
  writeFileSync(temporary, content, { mode: 0o600, flush: true })
  renameSync(temporary, path)
  syncNames(dirname(path))
}
