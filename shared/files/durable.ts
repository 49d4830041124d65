import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Flushes a file, or the entries of a folder, to disk. Throws the error of the file system. */
export function syncPath(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
