import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { CommandError, systemCode } from '#scripts/cli/command.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'

type Credentials = AnswerOf<'POST /devices/import'>['credentials']

/** Where passwords go that are shown only once: made before they are, so that none is lost for want of a file. */
export class CredentialsFile {
  readonly #path: string
  readonly #file: number

  private constructor(path: string, file: number) {
    this.#path = path
    this.#file = file
  }

  /** A new file for its owner only; it never takes the place of another. Throws `CommandError`. */
  static create(path: string): CredentialsFile {
    try {
      return new CredentialsFile(path, openSync(path, 'wx', 0o600))
    } catch (error) {
      const code = systemCode(error)
      if (code === 'EEXIST')
        throw new CommandError(`${path} exists, and may have passwords: name another one with --credentials`)
      if (code === undefined) throw error
      throw new CommandError(`${path} cannot be written: ${code}`, { cause: error })
    }
  }

  /** Resolves with all of them on the disk. */
  write(credentials: Credentials): void {
    const lines = credentials.map((one) => [one.hardware_id, one.username, one.password].map(field).join(','))
    writeSync(this.#file, `${['hardware_id,username,password', ...lines].join('\n')}\n`)
    fsyncSync(this.#file)
    closeSync(this.#file)
  }

  /** There is nothing to keep. */
  discard(): void {
    closeSync(this.#file)
    rmSync(this.#path, { force: true })
  }
}

function field(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
