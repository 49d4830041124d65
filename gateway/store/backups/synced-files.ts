import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** The names in an open folder, where the file system can: some on sticks cannot, and write them with the file. */
export function syncFolder(opened: number): void {
  try {
    fsyncSync(opened)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && ['EINVAL', 'ENOTSUP'].includes(String(error.code)))) throw error
  }
}

/** The same for a folder by its name. */
export function syncNames(folder: string): void {
  const opened = openSync(folder, 'r')
  try {
    syncFolder(opened)
  } finally {
    closeSync(opened)
  }
}

/** Puts a small file in the place of one that may be there: after a power cut one or the other is whole. */
export function replaceFile(path: string, content: string): void {
  const temporary = `${path}.tmp`
  writeFileSync(temporary, content, { mode: 0o600, flush: true })
  renameSync(temporary, path)
  syncNames(dirname(path))
}
