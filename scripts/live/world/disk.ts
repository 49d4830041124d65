import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readlinkSync, realpathSync, renameSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Part of what no sync has made safe that the disk keeps in a power cut. */
export type Kept = 'none' | 'some' | 'all'

/** Operations that fail; those that are not named succeed. A failed sync loses what was written since the last. */
export interface DiskFault {
  readonly write?: 'ENOSPC' | 'EIO'
  readonly sync?: 'EIO'
  readonly read?: 'EIO'
}

/** Commands of `disk.c` are names of links. */
const COMMAND = 'bottle-disk:'

/** The disk of a data folder. Without the library of `disk.c` in this process it never fails and loses nothing. */
export class Disk {
  readonly isPresent: boolean
  readonly #number: number
  #fault: DiskFault = {}

  /** Watches all that this process changes in a folder from now on. */
  constructor(folder: string) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    this.#number = ask(`watch ${realpathSync(folder)}`)
    this.isPresent = this.#number > 0
  }

  /** Lets nothing reach the disk any more after so many changes; `isFrozen` from then on. */
  arm(changes: number): void {
    this.#ask('arm', changes)
  }

  get isFrozen(): boolean {
    return this.#ask('frozen') === 1
  }

  disarm(): void {
    if (this.isFrozen) this.settle()
    else this.arm(-1)
  }

  /** Leaves in the files what a power cut at this moment leaves; returns how many changes were not safe. */
  cut(kept: Kept, seed: number): number {
    return this.#ask('cut', kept, seed)
  }

  /** Takes all that was written so far for safe. */
  settle(): void {
    this.#ask('settle')
  }

  fail(fault: DiskFault): void {
    this.#fault = fault
    const codes = [fault.write, fault.sync, fault.read]
    this.#ask('fail', ...codes.map((code) => (code === undefined ? 0 : constants.errno[code])))
  }

  get isFailing(): boolean {
    return this.isPresent && Object.keys(this.#fault).length > 0
  }

  /** Works on the files with a disk that does not fail. */
  beside<Result>(work: () => Result): Result {
    const fault = this.#fault
    this.fail({})
    try {
      return work()
    } finally {
      this.fail(fault)
    }
  }

  #ask(command: string, ...given: (string | number)[]): number {
    return this.isPresent ? ask([command, this.#number, ...given].join(' ')) : 0
  }
}

function ask(command: string): number {
  try {
    return Number(readlinkSync(`${COMMAND}${command}`))
  } catch {
    return 0
  }
}

/** Builds the library once for all runs; null where that is not possible. */
function compileDisk(): string | null {
  if (process.platform !== 'linux') return null
  const source = fileURLToPath(new URL('disk.c', import.meta.url))
  const sum = createHash('sha256').update(readFileSync(source)).digest('hex').slice(0, 16)
  const library = join(tmpdir(), `cartbarn-live-disk-${process.getuid?.()}-${sum}.so`)
  if (existsSync(library)) return library
  const unfinished = `${library}-${process.pid}`
  const { status, stderr } = spawnSync(
    'cc',
    // a fortified libc has inline functions with the names that the library replaces
    ['-shared', '-fPIC', '-O2', '-U_FORTIFY_SOURCE', '-o', unfinished, source, '-ldl'],
    { encoding: 'utf8' },
  )
  if (status !== 0 && process.env.CI) throw new Error(`cc cannot build disk.c, and CI is set: ${stderr}`)
  if (status !== 0) return null
  renameSync(unfinished, library)
  return library
}

/** Starts this process again with the disk below it, unless it has one. Must be called before anything is read. */
export function preloadDisk(): void {
  if (process.env.LD_PRELOAD !== undefined || process.execve === undefined) return
  const library = compileDisk()
  if (library === null) return
  process.execve(process.execPath, [process.execPath, ...process.execArgv, ...process.argv.slice(1)], {
    ...process.env,
    LD_PRELOAD: library,
  })
}
