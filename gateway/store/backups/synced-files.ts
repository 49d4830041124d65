import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Brings a file, or the names in a folder, to the disk. */
export function syncPath(path: string): void {
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
