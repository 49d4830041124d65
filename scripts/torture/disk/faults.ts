import { closeSync, mkdirSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { compilePreload } from '#scripts/rig/preload.ts'

/** Faults of the files of a folder; operations that are not named succeed. */
export interface DiskFault {
  /** Error of every write; `EROFS` also of opening a file for writing. */
  write?: 'ENOSPC' | 'EROFS' | 'EIO' | 'EDQUOT'
  /** Half of the bytes are written before the error. */
  isShort?: boolean
  sync?: 'EIO'
  /** A failed sync loses its data: the system may drop such pages from its cache. */
  isLossy?: boolean
  read?: 'EIO'
  /** Reads fail only if they include this page of 4,096 bytes, counted from 1: a permanently lost sector. */
  badPage?: number
  syncDelayMs?: number
  /** Restricts the faults to files whose name ends with this. */
  suffix?: string
}

const FIELD_BYTES = 4
const SUFFIX_AT = 7 * FIELD_BYTES
const COUNT_AT = SUFFIX_AT + 32
const PAGE_BYTES = 4096

/** Builds `faults.c` into a folder; returns the library's path, or undefined if `cc` cannot build it. */
export function compileDiskFaults(folder: string): string | undefined {
  const preload = compilePreload(folder, new URL('./faults.c', import.meta.url))
  return 'library' in preload ? preload.library : undefined
}

/** Faults of the disk under a running process: a page of memory shared with it. */
export class DiskFaults {
  /** Environment of the process that gets the faults. */
  readonly env: Record<string, string>
  readonly #control: number

  constructor(library: string, controlFolder: string, dataDir: string) {
    const file = join(controlFolder, 'control')
    writeFileSync(file, Buffer.alloc(PAGE_BYTES))
    // the library resolves links in its name when it is loaded
    mkdirSync(dataDir, { recursive: true })
    this.#control = openSync(file, 'r+')
    this.env = { LD_PRELOAD: library, DISK_FAULTS_DIR: dataDir, DISK_FAULTS_CONTROL: file }
  }

  set(fault: DiskFault): void {
    const page = Buffer.alloc(COUNT_AT)
    const fields = [
      numberOf(fault.write),
      numberOf(fault.sync),
      numberOf(fault.read),
      Number(fault.isShort ?? false),
      fault.syncDelayMs ?? 0,
      Number(fault.isLossy ?? false),
      fault.badPage ?? 0,
    ]
    for (const [i, field] of fields.entries()) page.writeUInt32LE(field, i * FIELD_BYTES)
    page.write(fault.suffix ?? '', SUFFIX_AT)
    writeSync(this.#control, page, 0, page.length, 0)
  }

  clear(): void {
    this.set({})
  }

  /** Number of calls that have failed so far. */
  get count(): number {
    const field = Buffer.alloc(FIELD_BYTES)
    readSync(this.#control, field, 0, field.length, COUNT_AT)
    return field.readUInt32LE()
  }

  close(): void {
    closeSync(this.#control)
  }
}

function numberOf(code: keyof typeof constants.errno | undefined): number {
  return code === undefined ? 0 : constants.errno[code]
}
