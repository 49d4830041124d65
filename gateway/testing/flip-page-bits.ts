import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { silently } from './silently.ts'

/** Of every database this program makes. */
const PAGE_BYTES = 4096

/** Flips bits of a page of a database, counted from its first, as a failing disk does; a gateway may have it open. */
export function flipPageBits(path: string, page: number, ...bits: number[]): void {
  silently(path, () => {
    const file = openSync(path, 'r+')
    try {
      for (const bit of bits) {
        const byte = new Uint8Array(1)
        const at = (page - 1) * PAGE_BYTES + (bit >> 3)
        readSync(file, byte, 0, 1, at)
        writeSync(file, Uint8Array.of((byte[0] ?? 0) ^ (1 << (bit & 7))), 0, 1, at)
      }
    } finally {
      closeSync(file)
    }
  })
}

/** A page of a database as it is in the file. */
export function pageContent(file: Buffer, page: number): Buffer {
  return file.subarray((page - 1) * PAGE_BYTES, page * PAGE_BYTES)
}
