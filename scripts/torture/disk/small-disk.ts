import { spawnSync } from 'node:child_process'
import { chmodSync, closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const PIECE_BYTES = 65_536

/** Separate file system that can be filled to its last byte. */
export class SmallDisk {
  readonly path: string
  readonly #ballast: string

  private constructor(path: string) {
    this.path = path
    this.#ballast = join(path, 'ballast')
  }

  /** Null if mounting is not permitted, which root is, except perhaps in a container. */
  static mount(path: string, megabytes: number): SmallDisk | null {
    mkdirSync(path, { recursive: true })
    if (!mount('-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path)) return null
    // a database in it may run as another user
    chmodSync(path, 0o777)
    const disk = new SmallDisk(path)
    process.once('exit', () => disk.unmount())
    return disk
  }

  fill(): void {
    const file = openSync(this.#ballast, 'w')
    try {
      for (let size = PIECE_BYTES; size >= 1; size /= 2) fillUp(file, Buffer.alloc(Math.ceil(size)))
    } finally {
      closeSync(file)
    }
  }

  empty(): void {
    rmSync(this.#ballast, { force: true })
  }

  /** Changes an option of the mount: `ro`, `rw` or `size=32m`. */
  remount(option: string): void {
    if (!mount('-o', `remount,${option}`, this.path)) throw new Error(`cannot remount ${this.path} with ${option}`)
  }

  /** Works even while a file is open in it. */
  unmount(): void {
    spawnSync('umount', ['-l', this.path])
  }
}

function mount(...args: string[]): boolean {
  return spawnSync('mount', args, { stdio: 'ignore' }).status === 0
}

function fillUp(file: number, piece: Buffer): void {
  try {
    while (writeSync(file, piece) > 0);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
  }
}
