import { createHash, randomUUID } from 'node:crypto'
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { BackupFault, inWords } from './backup-fault.ts'
import type { BackupPlace, PlacedFile } from './place.ts'
import { syncNames } from './synced-files.ts'

export const MAGIC = Buffer.from('cartbarn backup 1\n')
/** Lengths of the name and of the content, before both; zeros precede the checksum at the end of the file. */
const ENTRY_BYTES = 8
const SUM_BYTES = 32
const SLICE_BYTES = 1 << 20
const MOST_NAME_BYTES = 200
/** Maximum of entries, more than a manifest can name. */
const MOST_ENTRIES = 400_000

interface Entry {
  readonly at: number
  readonly bytes: number
}

/** Single file with one whole backup: a sequence of entries, and a checksum of everything at the end. */
export class FilePlace implements BackupPlace {
  readonly shown: string
  readonly isRemote = false
  readonly #path: string
  readonly #isNew: boolean
  readonly #entries = new Map<string, Entry>()
  readonly #sum = createHash('sha256')
  #file: number | undefined
  #bytes = 0
  #unfinished: string | undefined

  private constructor(path: string, isNew: boolean) {
    this.shown = path
    this.#path = path
    this.#isNew = isNew
  }

  /** Returns the target for a new file, which replaces an existing one. */
  static toWrite(path: string): FilePlace {
    return new FilePlace(path, true)
  }

  /** Returns the target for an existing file; `open` reads the whole file and throws `BackupFault` if it is damaged. */
  static toRead(path: string): FilePlace {
    return new FilePlace(path, false)
  }

  async open(): Promise<void> {
    if (this.#isNew) this.#begin()
    else this.#scan()
  }

  async list(folder: string): Promise<PlacedFile[]> {
    return [...this.#entries]
      .filter(([name]) => name.startsWith(`${folder}/`))
      .map(([name, { bytes }]) => ({ name, bytes }))
  }

  async read(name: string, mostBytes: number): Promise<Buffer | null> {
    const entry = this.#entries.get(name)
    if (entry === undefined) return null
    if (entry.bytes > mostBytes)
      throw new BackupFault(`${this.#path}: ${name} has ${entry.bytes} bytes, more than this program writes`)
    return this.#readAt(entry.at, entry.bytes)
  }

  async write(name: string, content: Buffer): Promise<void> {
    const head = Buffer.alloc(ENTRY_BYTES)
    head.writeUInt32LE(Buffer.byteLength(name), 0)
    head.writeUInt32LE(content.length, 4)
    this.#append(Buffer.concat([head, Buffer.from(name)]))
    this.#entries.set(name, { at: this.#bytes, bytes: content.length })
    this.#append(content)
    // leaves little for the sync at the end, which would block all other processes that sync
    fsyncSync(this.#handle)
  }

  /** Removes the name only; the bytes stay, because a file is written once. */
  async remove(name: string): Promise<void> {
    this.#entries.delete(name)
  }

  async finish(): Promise<void> {
    this.#append(Buffer.alloc(ENTRY_BYTES))
    const sum = this.#sum.copy().digest()
    writeAll(this.#handle, sum)
    fsyncSync(this.#handle)
    if (this.#unfinished !== undefined) renameSync(this.#unfinished, this.#path)
    this.#unfinished = undefined
    syncNames(dirname(this.#path))
  }

  async close(): Promise<void> {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
    if (this.#unfinished !== undefined) rmSync(this.#unfinished, { force: true })
    this.#unfinished = undefined
  }

  get #handle(): number {
    if (this.#file === undefined) throw new Error('the file is not open')
    return this.#file
  }

  #begin(): void {
    const folder = dirname(this.#path)
    if (!existsSync(folder)) throw new BackupFault(`there is no folder ${folder}`)
    // left over from a process that was killed
    const prefix = `${basename(this.#path)}.unfinished-`
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.name.startsWith(prefix) && !entry.isDirectory()) rmSync(join(folder, entry.name), { force: true })
    this.#unfinished = join(folder, prefix + randomUUID())
    // also readable, because the backup is read again after writing
    this.#file = openSync(this.#unfinished, 'wx+', 0o600)
    this.#append(MAGIC)
  }

  #append(content: Buffer): void {
    writeAll(this.#handle, content)
    this.#sum.update(content)
    this.#bytes += content.length
  }

  #scan(): void {
    try {
      // opening a named pipe would block
      this.#file = openSync(this.#path, constants.O_RDONLY | constants.O_NONBLOCK)
    } catch (error) {
      throw inWords(error, this.#path)
    }
    const found = fstatSync(this.#handle)
    if (!found.isFile()) throw new BackupFault(`${this.#path} is not a plain file`)
    const end = found.size
    if (!this.#readAt(0, Math.min(MAGIC.length, end)).equals(MAGIC))
      throw new BackupFault(`${this.#path} is not a backup of cartbarn`)
    this.#bytes = MAGIC.length
    for (;;) {
      const head = this.#readAt(this.#bytes, ENTRY_BYTES)
      this.#bytes += ENTRY_BYTES
      const [nameBytes, bytes] = [head.readUInt32LE(0), head.readUInt32LE(4)]
      if (nameBytes === 0) break
      const at = this.#bytes + nameBytes
      if (nameBytes > MOST_NAME_BYTES || at + bytes > end || this.#entries.size >= MOST_ENTRIES) throw this.#truncated()
      this.#entries.set(this.#readAt(this.#bytes, nameBytes).toString(), { at, bytes })
      this.#bytes = at + bytes
    }
    if (this.#bytes + SUM_BYTES !== end) throw this.#truncated()
    if (!this.#sumUpTo(this.#bytes).equals(this.#readAt(this.#bytes, SUM_BYTES)))
      throw new BackupFault(`${this.#path} is damaged or was altered: its checksum differs`)
  }

  #sumUpTo(end: number): Buffer {
    const sum = createHash('sha256')
    for (let at = 0; at < end; at += SLICE_BYTES) sum.update(this.#readAt(at, Math.min(SLICE_BYTES, end - at)))
    return sum.digest()
  }

  #readAt(at: number, bytes: number): Buffer {
    const content = Buffer.alloc(bytes)
    let done = 0
    while (done < bytes) {
      const read = readSync(this.#handle, content, done, bytes - done, at + done)
      if (read === 0) throw this.#truncated()
      done += read
    }
    return content
  }

  #truncated(): BackupFault {
    return new BackupFault(`${this.#path} is cut off or was altered: it does not end as a backup does`)
  }
}

function writeAll(file: number, content: Buffer): void {
  let done = 0
  while (done < content.length) done += writeSync(file, content, done)
}
