import type { randomFillSync } from 'node:crypto'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { Transform, type TransformCallback } from 'node:stream'
import type { Random } from '#shared/random.ts'
import { running } from './virtual-time.ts'

const require = createRequire(import.meta.url)
const fs = require('node:fs')
const promises = require('node:fs/promises')
const zlib = require('node:zlib')
const crypto = require('node:crypto')
const os = require('node:os')
const { PerformanceObserver } = require('node:perf_hooks')

/** The volume of the data folders, which other programs use too. */
export const volume = { bytes: 32e9, freeBytes: 20e9 }
const BLOCK_BYTES = 4096

type Callback = (error: unknown, result?: unknown) => void
type Call = (...given: unknown[]) => unknown

/**
 * Replaces what the host adds to a program by chance: random numbers come from `random`, and what Node does in its
 * thread pool is done immediately and answered in the next turn, so that its order is that of the calls.
 */
export function installHost(random: Random): void {
  installRandom(random)
  for (const name of ['gzip', 'gunzip']) {
    const whole = zlib[`${name}Sync`]
    const create = (options: object) => new WholeTransform((all) => whole(all, options))
    Object.defineProperties(zlib, {
      [name]: { value: answered(whole) },
      [`create${name === 'gzip' ? 'Gzip' : 'Gunzip'}`]: { value: create },
    })
  }
  crypto.scrypt = answered(crypto.scryptSync)
  const statfs = fs.statfsSync
  fs.statfsSync = (path: string) => {
    const free = Math.floor(volume.freeBytes / BLOCK_BYTES)
    const blocks = Math.floor(volume.bytes / BLOCK_BYTES)
    return { ...statfs(path), bsize: BLOCK_BYTES, blocks, bfree: free, bavail: free }
  }
  for (const name of ['readFile', 'writeFile', 'readdir', 'rename', 'rm', 'stat', 'statfs', 'mkdir', 'unlink']) {
    promises[name] = async (...given: unknown[]) => inTurn(() => fs[`${name}Sync`](...given))
  }
  promises.open = async (...given: unknown[]) => inTurn(() => new OpenFile(fs.openSync(...given)))
  // a thread of the product lowers its priority, and here it would be that of the bottle
  os.setPriority = () => undefined
  os.availableParallelism = () => 2
  os.hostname = () => 'bottle'
  os.networkInterfaces = () => ({})
  // collections of garbage take real time, and an observer keeps its program in memory
  PerformanceObserver.prototype.observe = () => undefined
  syncBuiltinESMExports()
}

/** Fills bytes by chance that depends only on the seed. */
export function fillBytes(random: Random, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; at++) bytes[at] = Math.floor(random.next() * 256)
}

function installRandom(random: Random): void {
  Math.random = random.next
  const bytesOf = (count: number) => {
    const bytes = Buffer.alloc(count)
    fillBytes(random, bytes)
    return bytes
  }
  crypto.randomBytes = (count: number, done?: Callback) =>
    done === undefined ? bytesOf(count) : void setImmediate(done, null, bytesOf(count))
  crypto.randomInt = (low: number, high?: number) =>
    high === undefined ? Math.floor(random.next() * low) : low + Math.floor(random.next() * (high - low))
  crypto.randomUUID = () => {
    const bytes = bytesOf(16)
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
    const hex = bytes.toString('hex')
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
  }
  crypto.randomFillSync = (target: NodeJS.ArrayBufferView) => {
    const bytes = new Uint8Array(target.buffer, target.byteOffset, target.byteLength)
    fillBytes(random, bytes)
    return target as ReturnType<typeof randomFillSync>
  }
  Object.defineProperty(globalThis.crypto, 'randomUUID', { value: crypto.randomUUID })
  Object.defineProperty(globalThis.crypto, 'getRandomValues', { value: crypto.randomFillSync })
}

/** Returns the form with a callback of a function that returns its result. */
function answered(work: Call): Call {
  const withCallback = (...given: unknown[]) => {
    const done = given.pop() as Callback
    inTurn(() => work(...given)).then(
      (result) => done(null, result),
      (error) => done(error),
    )
  }
  return withCallback
}

async function inTurn<Result>(work: () => Result): Promise<Result> {
  const result = work()
  await new Promise((resolve) => setImmediate(resolve))
  return result
}

/** Compresses a stream as a whole, at its end. */
class WholeTransform extends Transform {
  readonly #work: (all: Buffer) => Buffer
  readonly #chunks: Buffer[] = []

  constructor(work: (all: Buffer) => Buffer) {
    super()
    this.#work = work
  }

  override _transform(chunk: Buffer, _: string, done: TransformCallback): void {
    this.#chunks.push(Buffer.from(chunk))
    done()
  }

  override _flush(done: TransformCallback): void {
    try {
      this.push(this.#work(Buffer.concat(this.#chunks)))
      done()
    } catch (error) {
      done(error as Error)
    }
  }
}

/** The part of `FileHandle` that the product uses; the death of its program closes it. */
class OpenFile {
  readonly fd: number
  readonly #forget: (() => void) | undefined

  constructor(fd: number) {
    this.fd = fd
    this.#forget = running.getStore()?.onDeath(() => fs.closeSync(fd))
  }

  read(...given: [Buffer, number, number, number | null]) {
    return inTurn(() => ({ bytesRead: fs.readSync(this.fd, ...given), buffer: given[0] }))
  }

  write(...given: [Buffer | string, ...(number | null)[]]) {
    return inTurn(() => ({ bytesWritten: fs.writeSync(this.fd, ...given), buffer: given[0] }))
  }

  writeFile(text: string | Uint8Array) {
    return inTurn(() => fs.writeFileSync(this.fd, text))
  }

  readFile(options?: unknown) {
    return inTurn(() => fs.readFileSync(this.fd, options))
  }

  stat(options?: unknown) {
    return inTurn(() => fs.fstatSync(this.fd, options))
  }

  truncate(length: number) {
    return inTurn(() => fs.ftruncateSync(this.fd, length))
  }

  sync() {
    return inTurn(() => fs.fsyncSync(this.fd))
  }

  datasync() {
    return inTurn(() => fs.fdatasyncSync(this.fd))
  }

  close() {
    this.#forget?.()
    return inTurn(() => fs.closeSync(this.fd))
  }

  async [Symbol.asyncDispose]() {
    await this.close()
  }
}
