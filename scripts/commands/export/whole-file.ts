import { existsSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { CommandError, systemCode } from '#scripts/cli/command.ts'

/** A file that is there as a whole or not at all: until then it is `PATH.part`. */
export class WholeFile {
  readonly #path: string
  readonly #handle: FileHandle

  private constructor(path: string, handle: FileHandle) {
    this.#path = path
    this.#handle = handle
  }

  /** Throws `CommandError`. What an earlier try left of it is written over. */
  static async create(path: string): Promise<WholeFile> {
    return new WholeFile(path, await inWords(path, open(`${path}.part`, 'w')))
  }

  async write(bytes: Uint8Array): Promise<void> {
    await inWords(this.#path, this.#handle.writeFile(bytes))
  }

  /** Gives it its name, once all of it is on the disk. */
  async finish(): Promise<void> {
    await inWords(this.#path, this.#handle.sync())
    await this.#handle.close()
    await inWords(this.#path, rename(`${this.#path}.part`, this.#path))
    const folder = await open(dirname(this.#path))
    try {
      await folder.sync()
    } finally {
      await folder.close()
    }
  }

  async discard(): Promise<void> {
    await this.#handle.close()
    await rm(`${this.#path}.part`, { force: true })
  }
}

/** Throws `CommandError` when there is something at `path` already. */
export function requireFree(path: string): void {
  if (existsSync(path)) throw new CommandError(`${path} exists: give --force to write over it`)
}

async function inWords<Result>(path: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    const code = systemCode(error)
    throw code === undefined ? error : new CommandError(`${path} cannot be written: ${code}`)
  }
}
