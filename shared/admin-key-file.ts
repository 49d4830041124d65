import { closeSync, fsyncSync, linkSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { describeError } from './errors.ts'
import { newUuid } from './ids.ts'

const SETUP_LINE = /^setup code: (\S+)$/m

/**
 * File in the data folder that holds the generated key of an admin, for the operator to fetch: no log may contain the
 * key. The first line is the key; the second may hold a single-use code that signs a browser in.
 */
export class AdminKeyFile {
  readonly path: string
  readonly #folder: string

  constructor(dataDir: string, name = 'admin-key.txt') {
    this.#folder = dataDir
    this.path = join(dataDir, name)
  }

  /** Returns the key; undefined without one. */
  read(): string | undefined {
    return this.#text().split('\n', 1)[0]?.trim() || undefined
  }

  /** Returns the code as written; undefined without one. */
  readSetupCode(): string | undefined {
    return SETUP_LINE.exec(this.#text())?.[1]
  }

  /** Returns once the key is on disk: only then may it become valid. Throws a readable `Error`. */
  write(key: string, setupCode?: string): void {
    this.#put(setupCode === undefined ? key : `${key}\nsetup code: ${setupCode}`, renameSync)
  }

  /** Writes the key unless the file holds one: programs starting together agree. Returns the key in effect. */
  writeIfNone(key: string): string {
    this.#put(key, (temporary, path) => {
      try {
        linkSync(temporary, path)
      } catch (error) {
        if (this.read() === undefined) throw error
      }
      rmSync(temporary)
    })
    return this.read() ?? key
  }

  #text(): string {
    try {
      return readFileSync(this.path, 'utf8')
    } catch {
      return ''
    }
  }

  #put(content: string, place: (temporary: string, path: string) => void): void {
    const temporary = `${this.path}.${newUuid()}.tmp`
    try {
      const file = openSync(temporary, 'w', 0o600)
      try {
        writeSync(file, `${content}\n`)
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
      place(temporary, this.path)
      const folder = openSync(this.#folder, 'r')
      // persists the directory entry
      fsyncSync(folder)
      closeSync(folder)
    } catch (error) {
      throw new Error(`cannot write the admin key to ${this.path}: ${describeError(error)}`, {
        cause: error,
      })
    }
  }

  /** Deletes the file. Throws if it cannot be deleted. */
  remove(): void {
    rmSync(this.path, { force: true })
  }

  /** Deletes the file; logs a warning and returns false if that fails. */
  tryRemove(log: { warn(about: object, text: string): void }): boolean {
    try {
      this.remove()
      return true
    } catch (error) {
      log.warn({ path: this.path, reason: describeError(error) }, 'could not delete the admin key file')
      return false
    }
  }
}
