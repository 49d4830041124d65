import { closeSync, fsyncSync, linkSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { describeError } from './errors.ts'
import { newUuid } from './ids.ts'

const SETUP_LINE = /^setup code: (\S+)$/m

/**
 * The generated key of an admin, in a file of the data folder for the operator to fetch: no log may hold it. Its first
 * line is the key; a second one may hold a code that signs a browser in, once.
 */
export class AdminKeyFile {
  readonly path: string
  readonly #folder: string

  constructor(dataDir: string, name = 'admin-key.txt') {
    this.#folder = dataDir
    this.path = join(dataDir, name)
  }

  /** The key; undefined when there is none. */
  read(): string | undefined {
    return this.#text().split('\n', 1)[0]?.trim() || undefined
  }

  /** As it was written; undefined when there is none. */
  readSetupCode(): string | undefined {
    return SETUP_LINE.exec(this.#text())?.[1]
  }

  /** When it returns the key is on the disk: only then may it become valid. Throws an `Error` in words. */
  write(key: string, setupCode?: string): void {
    this.#put(setupCode === undefined ? key : `${key}\nsetup code: ${setupCode}`, renameSync)
  }

  /**
   * The same, unless there is a key: of programs that start at once in one folder all get the same. Returns the key.
   */
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
      // the name is part of the folder
      fsyncSync(folder)
      closeSync(folder)
    } catch (error) {
      throw new Error(`the admin key cannot be written into ${this.path}: ${describeError(error)}`, {
        cause: error,
      })
    }
  }

  /** Throws when it stays. */
  remove(): void {
    rmSync(this.path, { force: true })
  }

  /** Returns false, and tells the log, when it stays. */
  tryRemove(log: { warn(about: object, text: string): void }): boolean {
    try {
      this.remove()
      return true
    } catch (error) {
      log.warn({ path: this.path, reason: describeError(error) }, 'cannot remove the file of the admin key')
      return false
    }
  }
}
