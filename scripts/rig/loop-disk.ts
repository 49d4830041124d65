import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'

/** As a disk counts sectors, whatever its own are. */
const SECTOR_BYTES = 512
/** Where the kernel says what a block device did. Source: Documentation/block/stat.rst. */
const [SECTORS_WRITTEN, FLUSHES] = [6, 15]

// Holds the disk for as long as somebody holds its standard input, so that neither a mount nor a loop device nor a file
// stays behind however a benchmark ends; the loop device goes with its mount. Tables that ext4 would fill in later are
// filled in at once: they are no writes of a gateway. $1 is the folder.
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

/** What a block device did so far. */
export interface DiskUse {
  writtenBytes: number
  /** Times it was told to write what is in its cache; NaN where the kernel does not count them. */
  flushes: number
}

/** A file system of its own (ext4, as on a Raspberry Pi) on a block device of its own, which is a file. */
export class LoopDisk {
  /** Where it is mounted. */
  readonly folder: string
  readonly #device: string
  readonly #supervisor: ChildProcess

  private constructor(folder: string, device: string, supervisor: ChildProcess) {
    this.folder = folder
    this.#device = device
    this.#supervisor = supervisor
  }

  /** Returns the reason where the system does not let us, such as to whom is not root. Linux only. */
  static async create(): Promise<LoopDisk | string> {
    const folder = mkdtempSync(join(tmpdir(), 'cartbarn-disk-'))
    const supervisor = spawn('sh', ['-c', SUPERVISOR, 'sh', folder], {
      // a session of its own: Ctrl-C is for the benchmark, and the disk is to be tidied up then
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

  /** Writes what the system still holds back, and reads what the device did until then. */
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
