import { existsSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { CommandError, systemCode } from '#scripts/cli/command.ts'

/** File that exists completely or not at all: while it is written it is `PATH.part`. */
export class WholeFile {
  readonly #path: string
  readonly #handle: FileHandle

  private constructor(path: string, handle: FileHandle) {
    this.#path = path
    this.#handle = handle
  }

  /** Throws `CommandError`. Overwrites the remains of an earlier attempt. */
  static async create(path: string): Promise<WholeFile> {
    return new WholeFile(path, await inWords(path, open(`${path}.part`, 'w')))
  }

  async write(bytes: Uint8Array): Promise<void> {
    await inWords(this.#path, this.#handle.writeFile(bytes))
  }

  /** Renames the file to its final name, once the whole file is on the disk. */
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

/** Throws `CommandError` if `path` already exists. */
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
