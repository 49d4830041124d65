import { closeSync, openSync, readFileSync, readSync, writeFileSync, writeSync } from 'node:fs'
import { silently } from '../silently.ts'

/** Numbers of bytes around the bit to search for, until the result is unique. */
const WINDOWS_BYTES = [24, 300]
/** Page size of every database of this program. */
const PAGE_BYTES = 4096

/**
 * Flips one bit of `stored` in a file, where it may lie in several parts, as a failing disk does. The bytes around it
 * must be unique in the file.
 */
export function flipBit(path: string, stored: Uint8Array, byte: number, bit: number): void {
  const file = readFileSync(path)
  const at = find(file, stored, byte)
  file[at] = (file[at] ?? 0) ^ (1 << bit)
  silently(path, () => writeFileSync(path, file))
}

/** Flips one bit of the page number that links the page of a byte to the next page of `stored`. */
export function flipLinkBit(path: string, stored: Uint8Array, byte: number, bit: number): void {
  const file = readFileSync(path)
  // the first four bytes of an overflow page, big-endian: sqlite.org/fileformat2.html#ovflpgs
  const page = Math.floor(find(file, stored, byte) / PAGE_BYTES) * PAGE_BYTES
  const at = page + 3 - (bit >> 3)
  file[at] = (file[at] ?? 0) ^ (1 << (bit & 7))
  silently(path, () => writeFileSync(path, file))
}

function find(file: Buffer, stored: Uint8Array, byte: number): number {
  for (const windowBytes of WINDOWS_BYTES) {
    // the window must not cross the edge of a page, so several are tried
    for (let before = 0; before < windowBytes; before++) {
      const from = byte - before
      if (from < 0 || from + windowBytes > stored.length) continue
      const window = stored.subarray(from, from + windowBytes)
      const found = file.indexOf(window)
      if (found >= 0 && file.indexOf(window, found + 1) < 0) return found + before
    }
  }
  throw new Error(`byte ${byte} is not in the file, or there more than once`)
}

/**
 * Flips bits of a page of a database, counted from its first bit, as a failing disk does; a gateway may have it open.
 */
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

/** Returns a page of a database as stored in the file. */
export function pageContent(file: Buffer, page: number): Buffer {
  return file.subarray((page - 1) * PAGE_BYTES, page * PAGE_BYTES)
}
