import { statfsSync } from 'node:fs'

/** Bytes that an unprivileged user can still write to the disk of a folder. */
export function freeBytesIn(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/** Formats a size: 1,234 MB. */
export function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6).toLocaleString('en')} MB`
}
