import { spawnSync } from 'node:child_process'
import { chmodSync, closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Workbench } from '#scripts/rig/processes.ts'

const PIECE_BYTES = 65_536

/** Separate file system that can be filled to its last byte. */
export class SmallDisk {
  readonly path: string
  readonly #ballast: string

  private constructor(path: string) {
    this.path = path
    this.#ballast = join(path, 'ballast')
  }

  /** Null if mounting is not permitted. */
  static mount(bench: Workbench, megabytes: number): SmallDisk | null {
    const path = bench.createFolder('disk')
    const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path])
    if (status !== 0) return null
    // the database in it runs as another user
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

  /** Works even while a file is open in it. */
  unmount(): void {
    spawnSync('umount', ['-l', this.path])
  }
}

function fillUp(file: number, piece: Buffer): void {
  try {
    while (writeSync(file, piece) > 0);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
  }
}
