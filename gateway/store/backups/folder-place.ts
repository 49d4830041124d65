import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { giveToOwner } from '#shared/files/owner.ts'
import { BackupFault, inWords, UnreachableFault } from './backup-fault.ts'
import { mountFault } from './mount.ts'
import type { BackupPlace, PlacedFile } from './place.ts'
import { syncNames } from './synced-files.ts'

const UNFINISHED = 'unfinished'

/** A folder of backups, on this machine or on a stick. */
export class FolderPlace implements BackupPlace {
  readonly shown: string
  readonly isRemote = false
  readonly #path: string
  readonly #mustBeMounted: boolean
  #identity: string | undefined

  /** `mustBeMounted`: a file system of its own has to be there, also elsewhere than under /media and /mnt. */
  constructor(path: string, mustBeMounted = false) {
    this.shown = path
    this.#path = resolve(path)
    this.#mustBeMounted = mustBeMounted
  }

  async open(): Promise<void> {
    const fault = mountFault(this.#path, this.#mustBeMounted)
    if (fault !== null) throw new BackupFault(fault)
    try {
      // the last folder only: where its parent is missing, so is the stick
      if (!existsSync(this.#path)) mkdirSync(this.#path, { mode: 0o700 })
      this.#identity = identityOf(this.#path)
      for (const name of existsSync(join(this.#path, UNFINISHED))
        ? readdirSync(join(this.#path, UNFINISHED))
        : [])
        rmSync(join(this.#path, UNFINISHED, name), { force: true })
    } catch (error) {
      throw inWords(error, this.#path)
    }
  }

  async list(folder: string): Promise<PlacedFile[]> {
    this.#requireSame()
    const path = join(this.#path, folder)
    if (!existsSync(path)) return []
    return readdirSync(path, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const full = join(entry.parentPath, entry.name)
        return { name: full.slice(this.#path.length + 1), bytes: statSync(full).size }
      })
  }

  async read(name: string): Promise<Buffer | null> {
    this.#requireSame()
    try {
      return readFileSync(join(this.#path, name))
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
      throw inWords(error, this.#path)
    }
  }

  async write(name: string, content: Buffer): Promise<void> {
    this.#requireSame()
    try {
      this.#write(name, content)
    } catch (error) {
      throw inWords(error, this.#path)
    }
  }

  #write(name: string, content: Buffer): void {
    const path = join(this.#path, name)
    const temporary = join(this.#path, UNFINISHED, name.replaceAll('/', '-'))
    for (const folder of [dirname(path), dirname(temporary)]) this.#makeFolder(folder)
    const file = openSync(temporary, 'w', 0o600)
    try {
      let done = 0
      while (done < content.length) done += writeSync(file, content, done)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, path)
    syncNames(dirname(path))
  }

  #makeFolder(folder: string): void {
    if (existsSync(folder)) return
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    syncNames(dirname(folder))
  }

  async remove(name: string): Promise<void> {
    this.#requireSame()
    rmSync(join(this.#path, name), { force: true })
  }

  async finish(): Promise<void> {
    this.#requireSame()
  }

  async close(): Promise<void> {
    const wasOpen = this.#identity !== undefined
    this.#identity = undefined
    if (wasOpen && existsSync(this.#path)) giveToOwner(this.#path)
  }

  /** Under the stick that was pulled out lies an empty folder of the card. */
  #requireSame(): void {
    let found: string | undefined
    try {
      found = identityOf(this.#path)
    } catch {
      found = undefined
    }
    if (this.#identity === undefined || found !== this.#identity)
      throw new UnreachableFault(`${this.#path} is no longer there: was the disk pulled out?`)
  }
}

function identityOf(path: string): string {
  const { dev, ino, birthtimeNs } = statSync(path, { bigint: true })
  return `${dev}/${ino}/${birthtimeNs}`
}
