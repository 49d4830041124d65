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

/** The folder in the data folder that holds the authority. */
export const TLS_FOLDER = 'tls'

/**
 * Where an authority and what it signs lie. Each is one file, its certificate and its key together, and is put into
 * place by its name: a power cut leaves the old one or the new one.
 */
export class AuthorityFolder {
  /** Must not leave the machine. */
  readonly authorityPath: string
  /** What the gateway shows to browsers and devices. */
  readonly leafPath: string
  readonly #folder: string

  constructor(dataDir: string) {
    this.#folder = join(dataDir, TLS_FOLDER)
    this.authorityPath = join(this.#folder, 'authority.pem')
    this.leafPath = join(this.#folder, 'gateway.pem')
  }

  /** Throws an `Error` in words, with the way out. */
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

  /** Throws an `Error` in words. */
  writeAuthority(pem: string): void {
    this.#write(this.authorityPath, pem)
  }

  /** Removes the one that `writeAuthority` has made. */
  removeAuthority(): void {
    rmSync(this.authorityPath, { force: true })
  }

  /** Throws an `Error` in words. */
  writeLeaf(pem: string): void {
    this.#write(this.leafPath, pem)
  }

  #write(path: string, pem: string): void {
    const temporary = `${path}.new`
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
      // root also writes here, in a folder of a service
      if (lstatSync(this.#folder).isSymbolicLink()) throw new Error('its folder is a link')
      rmSync(temporary, { force: true })
      const file = openSync(temporary, 'wx', 0o600)
      try {
        // all of it, or it throws: of a full disk a single write may leave the rest out without a word
        writeFileSync(file, pem)
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
      renameSync(temporary, path)
      const folder = openSync(this.#folder, 'r')
      // the name is part of the folder
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
