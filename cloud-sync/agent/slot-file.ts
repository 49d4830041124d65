import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { z } from 'zod'

const SLOTS = 2
const SLOT_BYTES = 262_144
const PAGE_BYTES = 4096
/** Checksum of the rest, number of the write, and bytes of JSON after the line. */
const HEAD = /^([0-9a-f]{64}) (\d{1,15}) (\d{1,6})\n/
const HEAD_BYTES = 96

/**
 * Small record, complete after every crash: either the old or the new one. Written in place, alternately into two
 * slots, so that the file system's journal has nothing to write; replacing the file journals 15 times its size.
 */
export class SlotFile<Schema extends z.ZodType> {
  readonly #path: string
  readonly #schema: Schema
  /** Number of the newest write. */
  #number = 0
  #wanted: z.output<Schema> | undefined
  #writing: Promise<void> | undefined
  #file: FileHandle | undefined

  constructor(path: string, schema: Schema) {
    this.#path = path
    this.#schema = schema
  }

  /** Returns undefined if there is no readable record. */
  async read(): Promise<z.output<Schema> | undefined> {
    const bytes = await this.#readAll()
    let newest: { number: number; content: z.output<Schema> } | undefined
    for (let slot = 0; slot < SLOTS; slot++) {
      const found = this.#parse(bytes.subarray(slot * SLOT_BYTES, (slot + 1) * SLOT_BYTES))
      if (found !== undefined && found.number > (newest?.number ?? -1)) newest = found
    }
    this.#number = newest?.number ?? 0
    return newest?.content
  }

  /** Resolves when the content is on the disk. Calls during a write share the next one. */
  async write(content: z.output<Schema>): Promise<void> {
    this.#wanted = content
    while (this.#wanted !== undefined) {
      this.#writing ??= this.#writeWanted().finally(() => {
        this.#writing = undefined
      })
      await this.#writing
    }
    // another call may have started to write this content
    await this.#writing
  }

  async close(): Promise<void> {
    await this.#writing?.catch(() => undefined)
    await this.#file?.close()
    this.#file = undefined
  }

  async #writeWanted(): Promise<void> {
    const json = Buffer.from(JSON.stringify(this.#wanted))
    this.#wanted = undefined
    const number = this.#number + 1
    const tail = Buffer.concat([Buffer.from(` ${number} ${json.length}\n`), json])
    const record = Buffer.concat([Buffer.from(sumOf(tail)), tail])
    if (record.length > SLOT_BYTES) throw new RangeError(`${record.length} bytes are too much for a slot`)
    const file = await this.#open()
    await file.write(record, 0, record.length, (number % SLOTS) * SLOT_BYTES)
    await file.datasync()
    this.#number = number
  }

  /** Opens the file with all its blocks allocated on the disk: later writes in place need no new block. */
  async #open(): Promise<FileHandle> {
    if (this.#file !== undefined) return this.#file
    const file = await open(this.#path, constants.O_RDWR | constants.O_CREAT, 0o600)
    try {
      const { size } = await file.stat()
      if (size < SLOTS * SLOT_BYTES) {
        // page by page: Linux caches a large write as one unit, and counts it whole as written with each changed byte
        const page = Buffer.alloc(PAGE_BYTES)
        for (let at = size; at < SLOTS * SLOT_BYTES; at += PAGE_BYTES) await file.write(page, 0, PAGE_BYTES, at)
        await file.truncate(SLOTS * SLOT_BYTES)
        await file.sync()
        const folder = await open(dirname(this.#path), 'r')
        // the file name is stored in the folder
        await folder.sync().finally(() => folder.close())
      }
    } catch (error) {
      await file.close()
      throw error
    }
    this.#file = file
    return file
  }

  async #readAll(): Promise<Buffer> {
    try {
      const file = await open(this.#path, 'r')
      return await file.readFile().finally(() => file.close())
    } catch {
      return Buffer.alloc(0)
    }
  }

  #parse(slot: Buffer): { number: number; content: z.output<Schema> } | undefined {
    const head = HEAD.exec(slot.toString('latin1', 0, HEAD_BYTES))
    if (head === null) return undefined
    const [line, sum = '', number, length] = head
    const tail = slot.subarray(sum.length, line.length + Number(length))
    if (sumOf(tail) !== sum) return undefined
    const parsed = this.#schema.safeParse(JSON.parse(slot.toString('utf8', line.length, sum.length + tail.length)))
    return parsed.success ? { number: Number(number), content: parsed.data } : undefined
  }
}

function sumOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
