import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'

/** Sector size in the kernel's statistics, independent of the disk's own. */
const SECTOR_BYTES = 512
/** Fields of the kernel's statistics of a block device. Source: Documentation/block/stat.rst. */
const [SECTORS_WRITTEN, FLUSHES] = [6, 15]

// Holds the disk while stdin is open: no mount, loop device (it goes with its mount) or file outlives a benchmark.
// Tables that ext4 would fill in later are filled in now: they are not a gateway's writes. $1 is the folder.
const SUPERVISOR = `
set -e
truncate -s 4G "$1/disk"
mkfs.ext4 -q -F -N 16384 -E lazy_itable_init=0,lazy_journal_init=0 "$1/disk"
mkdir "$1/mounted"
mount -o loop,noatime "$1/disk" "$1/mounted"
findmnt -no SOURCE "$1/mounted"
cat >/dev/null
umount -l "$1/mounted"
rm -rf "$1"`

/** Totals of a block device so far. */
export interface DiskUse {
  writtenBytes: number
  /** Number of cache flushes; NaN if the kernel does not count them. */
  flushes: number
}

/** Separate file system (ext4, as on a Raspberry Pi) on a block device of its own, which is a file. */
export class LoopDisk {
  readonly folder: string
  readonly #device: string
  readonly #supervisor: ChildProcess

  private constructor(folder: string, device: string, supervisor: ChildProcess) {
    this.folder = folder
    this.#device = device
    this.#supervisor = supervisor
  }

  /** Returns the reason if the system does not permit it, for example without root. Linux only. */
  static async create(): Promise<LoopDisk | string> {
    const folder = mkdtempSync(join(tmpdir(), 'cartbarn-disk-'))
    const supervisor = spawn('sh', ['-c', SUPERVISOR, 'sh', folder], {
      // a session of its own: Ctrl-C must end the benchmark only, after which the disk is cleaned up
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    })
    const errors: string[] = []
    createInterface({ input: supervisor.stderr }).on('line', (line) => errors.push(line))
    const device = await Promise.race([
      once(createInterface({ input: supervisor.stdout }), 'line').then(([line]) => String(line)),
      once(supervisor, 'exit').then(() => undefined),
    ])
    if (device !== undefined) return new LoopDisk(join(folder, 'mounted'), basename(device), supervisor)
    spawnSync('rm', ['-rf', folder])
    return errors.join('; ')
  }

  /** Writes the system's dirty pages, then reads the device's totals. */
  use(): DiskUse {
    spawnSync('sync', ['-f', this.folder])
    const fields = readFileSync(`/sys/block/${this.#device}/stat`, 'utf8').trim().split(/\s+/).map(Number)
    return {
      writtenBytes: (fields[SECTORS_WRITTEN] ?? Number.NaN) * SECTOR_BYTES,
      flushes: fields[FLUSHES] ?? Number.NaN,
    }
  }

  async remove(): Promise<void> {
    const exited = once(this.#supervisor, 'exit')
    this.#supervisor.stdin?.end()
    await exited
  }
}
