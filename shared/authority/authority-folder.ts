import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describeError } from '#shared/errors.ts'

/** Subfolder of the data folder that holds the authority. */
export const TLS_FOLDER = 'tls'

/**
 * Storage of an authority and of the certificate it signs. Certificate and key share one file, which is put in place by
 * a rename: after a power cut either the old file or the new one exists.
 */
export class AuthorityFolder {
  /** Contains the private key of the authority and must not leave the host. */
  readonly authorityPath: string
  /** Certificate that the gateway presents to browsers and devices. */
  readonly leafPath: string
  readonly #folder: string

  constructor(dataDir: string) {
    this.#folder = join(dataDir, TLS_FOLDER)
    this.authorityPath = join(this.#folder, 'authority.pem')
    this.leafPath = join(this.#folder, 'gateway.pem')
  }

  /** Throws a readable `Error` that names the remedy. */
  readAuthority(): string {
    return read(this.authorityPath)
  }

  readLeaf(): string | undefined {
    try {
      return read(this.leafPath)
    } catch {
      return undefined
    }
  }

  /** Throws a readable `Error`. */
  writeAuthority(pem: string): void {
    this.#write(this.authorityPath, pem)
  }

  /** Deletes the file that `writeAuthority` wrote. */
  removeAuthority(): void {
    rmSync(this.authorityPath, { force: true })
  }

  /** Throws a readable `Error`. */
  writeLeaf(pem: string): void {
    this.#write(this.leafPath, pem)
  }

  #write(path: string, pem: string): void {
    const temporary = `${path}.new`
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
      // root also writes here, in a folder that belongs to the service user
      if (lstatSync(this.#folder).isSymbolicLink()) throw new Error('its folder is a link')
      rmSync(temporary, { force: true })
      const file = openSync(temporary, 'wx', 0o600)
      try {
        // writes the whole file or throws: on a full disk a single `write` may silently store only a part
        writeFileSync(file, pem)
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
      renameSync(temporary, path)
      const folder = openSync(this.#folder, 'r')
      // persists the directory entry
      fsyncSync(folder)
      closeSync(folder)
    } catch (error) {
      throw new Error(`${path} cannot be written: ${describeError(error)}`, { cause: error })
    }
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`${path} cannot be read: ${describeError(error)}`, { cause: error })
  }
}
