import { rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { ConflictError } from '#shared/errors.ts'
import { freeBytesIn, megabytes } from '#shared/files/free-space.ts'

/** Space that an upload leaves free for the database of the gateway. */
const RESERVE_BYTES = 200_000_000

/** Backup file that arrives in the data folder piece by piece. */
export class UploadedBackup {
  readonly path: string
  readonly #dataDir: string
  readonly #appending = new SerialQueue()

  constructor(dataDir: string) {
    this.path = join(dataDir, 'uploaded-backup')
    this.#dataDir = dataDir
  }

  /** Number of bytes so far; 0 without an upload. */
  get bytes(): number {
    return statSync(this.path, { throwIfNoEntry: false })?.size ?? 0
  }

  /** Appends a piece, and returns the bytes so far; offset 0 begins again. Throws `wrong_offset` or `no_space`. */
  append(offset: number, piece: Uint8Array): Promise<number> {
    return this.#appending.take(async () => {
      if (offset === 0) this.delete()
      const expected = this.bytes
      if (offset !== expected) throw new ConflictError('wrong_offset', `the upload continues at offset ${expected}`)
      const freeBytes = freeBytesIn(this.#dataDir)
      if (freeBytes < piece.length + RESERVE_BYTES)
        throw new ConflictError('no_space', `the disk of the gateway has ${megabytes(freeBytes)} left`)
      await this.#write(piece, expected)
      return expected + piece.length
    })
  }

  delete(): void {
    rmSync(this.path, { force: true })
  }

  async #write(piece: Uint8Array, end: number): Promise<void> {
    const file = await open(this.path, 'a', 0o600)
    try {
      await file.writeFile(piece)
    } catch (error) {
      // part of the piece would shift everything after it
      await file.truncate(end)
      throw error
    } finally {
      await file.close()
    }
  }
}
