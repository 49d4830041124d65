import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, gzip as gzipCallback } from 'node:zlib'
import type { z } from 'zod'
import { Counter } from '#shared/counter.ts'
import { describeError } from '#shared/errors.ts'
import {
  type RebuildKind,
  type RebuildOffer,
  type RebuildPage,
  type Rebuilt,
  type RebuiltAnswer,
  rebuildOfferSchema,
  rebuildPageSchema,
  rebuiltAnswerSchema,
} from '#shared/wire/replication/rebuild.ts'
import {
  type Audit,
  type AuditAnswer,
  auditAnswerSchema,
  type Hello,
  type HelloAnswer,
  helloAnswerSchema,
  type Intent,
  intentsAnswerSchema,
  type Latest,
  latestAnswerSchema,
  type Push,
  type PushAnswer,
  pushAnswerSchema,
} from '#shared/wire/replication/sync.ts'
import { HttpExchange, ResponseTooLargeError } from './http-exchange.ts'
import type { HubClock } from './hub-clock.ts'
import { type RequestResult, readOutcome, retry } from './request-result.ts'

const gzip = promisify(gzipCallback)

export interface UpstreamOptions {
  readonly url: string
  readonly key: string
  /** Allows the key to be sent unencrypted to other machines. */
  readonly isInsecureAllowed: boolean
  /** Replaces the timeouts of requests, in milliseconds. */
  readonly timeoutsMs?: Partial<Timeouts>
  /** Shared connections to the hub, closed by the caller. */
  readonly exchange?: HttpExchange
}

interface Timeouts {
  readonly short: number
  readonly push: number
  readonly audit: number
  /** Added to the time that the hub is asked to wait. */
  readonly intents: number
}

const TIMEOUTS_MS: Timeouts = { short: 20_000, push: 90_000, audit: 120_000, intents: 20_000 }
const REBUILD = '/sync/v1/rebuild'
const ANSWER_BYTES = 1_048_576
const LONG_ANSWER_BYTES = 16_777_216
/** Errors before the hub was reached: no route, name or network. */
const LOCAL_CODES = ['ENETUNREACH', 'EHOSTUNREACH', 'ENETDOWN', 'EAI_AGAIN', 'ENOTFOUND']

/** Compressibility of a body: for base64 of dense data, Huffman coding alone removes the two unused bits in eight. */
export type Density = 'loose' | 'dense'

/** Hub over HTTP: each request has a timeout, each response a maximum size and a schema. Never throws. */
export class Upstream {
  /** Bytes of compressed bodies, by kind of request. */
  readonly sentBytes = new Counter(['hello', 'push', 'latest', 'audit', 'rebuild'])
  readonly host: string
  readonly #exchange: HttpExchange
  readonly #isShared: boolean
  readonly #key: string
  readonly #timeouts: Timeouts
  readonly #hubClock: HubClock | undefined

  /** `hubClock` receives the time in each response. Throws for an address to which the key must not be sent. */
  constructor({ url, key, isInsecureAllowed, timeoutsMs = {}, exchange }: UpstreamOptions, hubClock?: HubClock) {
    const fault = upstreamUrlFault(url, isInsecureAllowed)
    if (fault !== null) throw new Error(`the address of the hub ${fault}`)
    const base = new URL(url)
    this.host = base.host
    this.#exchange = exchange ?? new HttpExchange(base)
    this.#isShared = exchange !== undefined
    this.#key = key
    this.#hubClock = hubClock
    this.#timeouts = { ...TIMEOUTS_MS, ...timeoutsMs }
  }

  close(): void {
    if (!this.#isShared) this.#exchange.close()
  }

  hello(hello: Hello, signal: AbortSignal): Promise<RequestResult<HelloAnswer>> {
    return this.#post('hello', hello, helloAnswerSchema, this.#timeouts.short, signal)
  }

  push(push: Push, signal: AbortSignal, density: Density = 'loose'): Promise<RequestResult<PushAnswer>> {
    return this.#post('push', push, pushAnswerSchema, this.#timeouts.push, signal, density)
  }

  latest(latest: Latest, signal: AbortSignal): Promise<RequestResult<z.infer<typeof latestAnswerSchema>>> {
    return this.#post('latest', latest, latestAnswerSchema, this.#timeouts.short, signal)
  }

  audit(audit: Audit, signal: AbortSignal): Promise<RequestResult<AuditAnswer>> {
    return this.#post('audit', audit, auditAnswerSchema, this.#timeouts.audit, signal)
  }

  /** Waits for intents after `after`; returns an empty list after `waitS` seconds without one. */
  async intents(after: number, waitS: number, signal: AbortSignal): Promise<RequestResult<readonly Intent[]>> {
    const path = `/sync/v1/intents?after=${after}&wait=${waitS}`
    const timeoutMs = waitS * 1000 + this.#timeouts.intents
    const outcome = await this.#request('GET', path, undefined, intentsAnswerSchema, timeoutMs, signal)
    return outcome.kind === 'ok' ? { kind: 'ok', answer: outcome.answer.intents } : outcome
  }

  /** Fetches an overview of the data that the hub can return to a gateway that lost its database. */
  rebuildOffer(signal: AbortSignal): Promise<RequestResult<RebuildOffer>> {
    return this.#request('GET', REBUILD, undefined, rebuildOfferSchema, this.#timeouts.short, signal)
  }

  /** Fetches the page after `after` of the hub's data of a kind; records only from `sinceMs` on. */
  async rebuildPage(
    { kind, after, sinceMs }: { kind: RebuildKind; after: string | null; sinceMs: number },
    signal: AbortSignal,
  ): Promise<RequestResult<RebuildPage>> {
    const query = `since=${Math.max(0, sinceMs)}${after === null ? '' : `&after=${encodeURIComponent(after)}`}`
    const path = `${REBUILD}/${kind}?${query}`
    const page = await this.#request('GET', path, undefined, rebuildPageSchema, this.#timeouts.audit, signal)
    if (page.kind !== 'ok' || hash('sha256', page.answer.content) === page.answer.sum) return page
    return retry('bad_answer', 'a page was changed in transit')
  }

  /** Reports the epoch in which the database made from the pages continues. */
  rebuilt(rebuilt: Rebuilt, signal: AbortSignal): Promise<RequestResult<RebuiltAnswer>> {
    return this.#post('rebuild', rebuilt, rebuiltAnswerSchema, this.#timeouts.audit, signal)
  }

  async #post<Schema extends z.ZodType>(
    name: string,
    value: unknown,
    schema: Schema,
    timeoutMs: number,
    signal: AbortSignal,
    density: Density = 'loose',
  ): Promise<RequestResult<z.output<Schema>>> {
    const { Z_HUFFMAN_ONLY, Z_DEFAULT_STRATEGY } = constants
    const strategy = density === 'dense' ? Z_HUFFMAN_ONLY : Z_DEFAULT_STRATEGY
    const body = await gzip(JSON.stringify(value), { strategy })
    this.sentBytes.add(name, body.length)
    return this.#request('POST', `/sync/v1/${name}`, body, schema, timeoutMs, signal)
  }

  async #request<Schema extends z.ZodType>(
    method: 'GET' | 'POST',
    path: string,
    body: Buffer | undefined,
    schema: Schema,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<RequestResult<z.output<Schema>>> {
    const timeout = AbortSignal.timeout(timeoutMs)
    const takeHubTime = this.#hubClock?.ask()
    try {
      const answer = await this.#exchange.send({
        method,
        path,
        body,
        headers: {
          authorization: `Bearer ${this.#key}`,
          accept: 'application/json',
          ...(body === undefined
            ? {}
            : {
                'content-type': 'application/json',
                'content-encoding': 'gzip',
                'content-length': body.length,
              }),
        },
        maxAnswerBytes: method === 'GET' || path.endsWith('/audit') ? LONG_ANSWER_BYTES : ANSWER_BYTES,
        signal: AbortSignal.any([signal, timeout]),
      })
      takeHubTime?.(answer.hubMs)
      return readOutcome(answer, schema)
    } catch (error) {
      if (timeout.aborted) return retry('timeout', `no answer within ${timeoutMs / 1000} s`)
      if (error instanceof ResponseTooLargeError) return retry('bad_answer', error.message)
      return retry('network', describeNetworkError(error), { isLocal: LOCAL_CODES.includes(codeOf(error)) })
    }
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** An error for several addresses of a host has an empty message. */
function describeNetworkError(error: unknown): string {
  const words = describeError(error)
  return words === '' ? codeOf(error) || 'no connection' : words
}

/** Returns the fault in the address of a hub, as text for staff; null if the key may be sent there. */
export function upstreamUrlFault(text: string, isInsecureAllowed: boolean): string | null {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return 'must be an https:// address'
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    return 'must be a plain address, without user, query or fragment'
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !isInsecureAllowed)
    return 'must be https://, or the site key could be read in transit'
  return null
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}
