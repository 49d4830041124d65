import { randomUUID } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { changeOwner } from '#shared/files/owner.ts'
import { BackupFault, inWords, UnreachableFault } from './backup-fault.ts'
import { isForDisks, isShownReadOnly, type MountRule, mountFault } from './mount.ts'
import type { BackupPlace, PlacedFile } from './place.ts'
import { PlainFolder } from './plain-folder.ts'

const UNFINISHED = 'unfinished'

/** Folder of backups, on this machine or on a stick. */
export class FolderPlace implements BackupPlace {
  readonly shown: string
  readonly isRemote = false
  readonly #path: string
  readonly #files: PlainFolder
  readonly #rule: MountRule
  #identity: string | undefined

  constructor(path: string, rule: MountRule = { mustBeMounted: false }) {
    this.shown = path
    this.#path = resolve(path)
    this.#files = new PlainFolder(this.#path)
    this.#rule = rule
  }

  async open(): Promise<void> {
    const fault = mountFault(this.#path, this.#rule)
    if (fault !== null) throw new BackupFault(fault)
    this.#inWords(() => {
      const found = lstatSync(this.#path, { throwIfNoEntry: false })
      if (found?.isSymbolicLink() && isForDisks(resolve(this.#path, '..')))
        throw new BackupFault(`${this.#path} is a link on that disk: use the folder that it leads to`)
      // creates the last folder only: a missing parent means that the stick is missing
      if (found === undefined) mkdirSync(this.#path, { mode: 0o700 })
      this.#identity = identityOf(this.#path)
      this.#files.empty(UNFINISHED)
    })
  }

  async list(folder: string): Promise<PlacedFile[]> {
    this.#requireSame()
    return this.#inWords(() => this.#files.list(folder))
  }

  async read(name: string, mostBytes: number): Promise<Buffer | null> {
    this.#requireSame()
    return this.#inWords(() => this.#files.read(name, mostBytes))
  }

  async write(name: string, content: Buffer): Promise<void> {
    this.#requireSame()
    this.#inWords(() => this.#files.write(name, `${UNFINISHED}/${randomUUID()}`, content))
  }

  async remove(name: string): Promise<void> {
    this.#requireSame()
    this.#inWords(() => this.#files.remove(name))
  }

  async finish(): Promise<void> {
    this.#requireSame()
  }

  async close(): Promise<void> {
    const wasOpen = this.#identity !== undefined
    this.#identity = undefined
    if (wasOpen && existsSync(this.#path)) changeOwner(this.#path)
  }

  #inWords<Result>(work: () => Result): Result {
    try {
      return work()
    } catch (error) {
      if (error instanceof BackupFault) throw new BackupFault(`${this.#path}: ${error.message}`, { cause: error })
      if (isReadOnlyFault(error) && isShownReadOnly(this.#path))
        throw new BackupFault(
          `${this.#path} is read-only for the service: sudo systemctl edit cartbarn, add the lines [Service] ` +
            `and ReadWritePaths=-${this.#path}, then sudo systemctl restart cartbarn`,
          { cause: error },
        )
      throw inWords(error, this.#path)
    }
  }

  /** Detects a stick that was removed: an empty folder of the system's card then has its path. */
  #requireSame(): void {
    let found: string | undefined
    try {
      found = identityOf(this.#path)
    } catch {
      found = undefined
    }
    if (this.#identity === undefined || found !== this.#identity)
      throw new UnreachableFault(`${this.#path} no longer exists: check that the disk is connected`)
  }
}

function isReadOnlyFault(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EROFS'
}

function identityOf(path: string): string {
  const { dev, ino, birthtimeNs } = statSync(path, { bigint: true })
  return `${dev}/${ino}/${birthtimeNs}`
}
