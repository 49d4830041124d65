import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** Flushes the names in an open folder, if the file system can: some on sticks write them together with the file. */
export function syncFolder(opened: number): void {
  try {
    fsyncSync(opened)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && ['EINVAL', 'ENOTSUP'].includes(String(error.code)))) throw error
  }
}

export function syncNames(folder: string): void {
  const opened = openSync(folder, 'r')
  try {
    syncFolder(opened)
  } finally {
    closeSync(opened)
  }
}

/** Writes or replaces a small file: after a power cut, either the old or the new one is whole. */
export function replaceFile(path: string, content: string): void {
  const temporary = `${path}.tmp`
  writeFileSync(temporary, content, { mode: 0o600, flush: true })
  renameSync(temporary, path)
  syncNames(dirname(path))
}
