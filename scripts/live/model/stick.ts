import { existsSync, mkdirSync, readdirSync, readlinkSync, renameSync } from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'

const fs = createRequire(import.meta.url)('node:fs')

export type StickFault = 'gone' | 'full'

/** Disk for backups: a folder that may be pulled out, or be full. */
export class Stick {
  /** Target of the backups. */
  readonly target: string
  readonly #path: string
  fault: StickFault | null = null

  /** Replaces `writeSync`; must be created before any module of the product is loaded. */
  constructor(path: string) {
    this.#path = path
    this.target = join(path, 'backups')
    mkdirSync(path)
    const write = fs.writeSync
    fs.writeSync = (file: number, ...given: unknown[]) => {
      if (this.fault === 'full' && readlinkSync(`/proc/self/fd/${file}`).startsWith(path))
        throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
      return write(file, ...given)
    }
    syncBuiltinESMExports()
  }

  fail(fault: StickFault | null): void {
    if (this.fault === 'gone') renameSync(`${this.#path}.away`, this.#path)
    if (fault === 'gone') renameSync(this.#path, `${this.#path}.away`)
    this.fault = fault
  }

  /** Names of the finished backups, oldest first. */
  backups(): string[] {
    const folder = join(this.fault === 'gone' ? `${this.#path}.away/backups` : this.target, 'snapshots')
    return existsSync(folder)
      ? readdirSync(folder)
          .filter((name) => /^\d+-\d{8}T\d{6}Z$/.test(name))
          .toSorted()
      : []
  }
}
