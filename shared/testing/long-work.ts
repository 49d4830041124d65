import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { OpenApiDocument } from '#shared/http/openapi.ts'
import { resolveSchema, sampleOf } from '#shared/http/openapi-sample.ts'
import { HostileRequests, type Target } from './hostile-requests.ts'
import { largestBodies } from './largest-bodies.ts'
import { largestQueries } from './largest-queries.ts'
import { largestOf } from './largest-value.ts'

/** Request to be sent unchanged; `body` in UTF-8. */
export interface LongRequest {
  method: string
  path: string
  headers: Record<string, string>
  body: Uint8Array<ArrayBuffer> | null
}

/** Longest uninterrupted time for which a request kept the main thread busy. */
interface Measured {
  name: string
  what: string
  characters: number
  status: number
  ms: number
}

interface Options {
  document: OpenApiDocument
  /** Ids of existing objects by the first word of a path; read again for each request. */
  existing: Readonly<Record<string, string>>
  /** Restores objects that a request may have deleted, so that the following requests find them. */
  restore: () => Promise<void>
  /** Resolves with the status once the whole response has arrived. */
  send: (request: LongRequest) => Promise<number>
  /** Limit for one tick of the event loop, by method and path. */
  mostMs: (name: string) => number
}

/**
 * Share of requests that are sent: of small bodies, of bodies over 1 MB, of enlarged fields and of queries. Set
 * CARTBARN_TEST_LONG=1 to send all of them, and CARTBARN_TEST_SHOW=1 for a table of the slowest.
 */
const STRIDE = process.env.CARTBARN_TEST_LONG === undefined ? 17 : 1
/** Candidate sizes of a body; the largest one that an operation accepts is sent. */
const SIZES = [0.0625, 0.125, 0.5, 1, 4, 5, 8].map((megabytes) => megabytes * 1_048_576)
const SPACES = new Uint8Array(8 * 1_048_576).fill(32)
const SMALL = 100_000
/** Larger bodies take most of the time, and concern only two operations. */
const LARGE = 1_048_576

/**
 * Sends the largest and most unusual input that each operation of a document accepts, and measures how long others
 * wait.
 */
export class LongWork {
  readonly #options: Options
  readonly #requests: HostileRequests
  #made = 0

  constructor(options: Options) {
    this.#options = options
    this.#requests = new HostileRequests(options.document, options.existing)
  }

  /** Fails if a body delays others for too long, or causes an error. Returns the number of requests. */
  checkBodies(): Promise<number> {
    return this.#check((target) => this.#bodies(target))
  }

  /** Does the same for queries. */
  checkQueries(): Promise<number> {
    return this.#check((target) => this.#queries(target))
  }

  async #check(measurements: (target: Target) => AsyncGenerator<Measured>): Promise<number> {
    const { mostMs, restore } = this.#options
    const all: Measured[] = []
    for (const target of this.#targets()) {
      await restore()
      for await (const measured of measurements(target)) all.push(measured)
    }
    const slowest = all.toSorted((a, b) => b.ms - a.ms).slice(0, 40)
    if (process.env.CARTBARN_TEST_SHOW !== undefined) process.stdout.write(`${slowest.map(described).join('\n')}\n`)
    assert.deepEqual(all.filter(({ name, ms }) => ms > mostMs(name)).map(described), [])
    assert.deepEqual(all.filter(({ status }) => status >= 500 && status !== 503).map(described), [])
    return all.length
  }

  /** Returns every operation, deleting ones last. */
  #targets(): Target[] {
    return this.#requests.targets().sort((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'))
  }

  async *#bodies(target: Target): AsyncGenerator<Measured> {
    const { method, operation } = target
    const { schemas } = this.#options.document.components
    for (const [type, { schema: given }] of Object.entries(operation.requestBody?.content ?? {})) {
      const request = { method, path: this.#pathOf(target), headers: { 'content-type': type } }
      const room = await this.#roomOf(request)
      const schema = resolveSchema(given, schemas)
      const sample = Object(sampleOf(schema, schemas))
      const fields = Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([name, one]) => [name, sampleOf(one, schemas)]),
      )
      if (type.endsWith('json'))
        yield await this.#measure(target, 'as much as the schema allows', {
          ...request,
          body: bytesOf(largestOf(schema, schemas, room)),
        })
      for (const { what, make } of largestBodies(type, { ...fields, ...sample })) {
        this.#made++
        const isSampled = what.includes(': ') || room < SMALL || room > LARGE
        if (isSampled && this.#made % STRIDE !== 0) continue
        yield await this.#measure(target, `${type} ${what}`, { ...request, body: bytesOf(make(room)) })
      }
    }
  }

  async *#queries(target: Target): AsyncGenerator<Measured> {
    const { method, operation } = target
    const { schemas } = this.#options.document.components
    const [type] = Object.keys(operation.requestBody?.content ?? {})
    const headers = { 'content-type': type ?? 'application/json' }
    const path = this.#pathOf(target)
    for (const query of largestQueries(operation.parameters, schemas)) {
      this.#made++
      if (this.#made % STRIDE !== 0) continue
      const [shown] = this.#requests.systematic(target)
      const body = shown?.body === undefined ? null : bytesOf(shown.body)
      yield await this.#measure(target, query, { method, path: `${path}?${query}`, headers, body })
    }
  }

  #pathOf(target: Target): string {
    const [shown] = this.#requests.systematic(target)
    return shown?.path ?? target.path
  }

  /** Returns the largest size that is not rejected because of the size alone. */
  async #roomOf(request: Omit<LongRequest, 'body'>): Promise<number> {
    let room = SIZES[0] ?? 0
    for (const bytes of SIZES) {
      if ((await this.#options.send({ ...request, body: SPACES.subarray(0, bytes) })) === 413) break
      room = bytes
    }
    return room
  }

  /**
   * Returns the minimum of six measurements if the first is too high: new code must be compiled, memory is collected,
   * and other processes share the caches.
   */
  async #measure(target: Target, what: string, request: LongRequest): Promise<Measured> {
    const name = `${target.method} ${target.path}`
    const measured: Measured = { name, what, characters: request.body?.length ?? 0, status: 0, ms: Infinity }
    for (let i = 0; i < 6 && measured.ms > this.#options.mostMs(name); i++) {
      const ms = await longestTurnMs(async () => {
        measured.status = await this.#options.send(request)
      })
      measured.ms = Math.min(measured.ms, ms)
    }
    return measured
  }
}

function described({ name, what, characters, status, ms }: Measured): string {
  return `${name}: ${what.slice(0, 60)}, ${characters} characters: ${Math.round(ms)} ms, ${status}`
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}

/**
 * CPU time of the longest tick of this thread's event loop during `act`, in ms. Unlike wall time it does not grow on a
 * busy computer.
 */
async function longestTurnMs(act: () => Promise<unknown>): Promise<number> {
  let longestMs = 0
  let isDone = false
  await sleep(1)
  let before = process.threadCpuUsage()
  const acting = act().finally(() => {
    isDone = true
  })
  for (let isLast = false; !isLast; ) {
    isLast = isDone
    // a timer fires in every tick; polling without a pause would take the processor from the reader threads
    await sleep(1)
    const now = process.threadCpuUsage()
    longestMs = Math.max(longestMs, (now.user + now.system - before.user - before.system) / 1000)
    before = now
  }
  await acting
  return longestMs
}
