import {
  Agent as HttpAgent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as requestHttp,
} from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { HUB_TIME_HEADER } from '#shared/wire/replication/sync.ts'
import type { RawAnswer } from './request-result.ts'

export interface Exchange {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: OutgoingHttpHeaders
  readonly body: Buffer | undefined
  readonly maxAnswerBytes: number
  readonly signal: AbortSignal
}

/** The response is longer than any response of a hub. */
export class ResponseTooLargeError extends Error {}

/** Sends requests over kept-alive connections. Never follows a redirect: the key is only for this host. */
export class HttpExchange {
  readonly #base: URL
  readonly #agent: HttpAgent | HttpsAgent

  /** Each lane of a gateway has one open request, and intents have another: none waits for a connection. */
  constructor(base: URL, maxSockets = 8) {
    this.#base = base
    // most recently used first, because the hub closes idle connections
    const options = { keepAlive: true, maxSockets, scheduling: 'lifo' as const }
    this.#agent = base.protocol === 'https:' ? new HttpsAgent(options) : new HttpAgent(options)
  }

  close(): void {
    this.#agent.destroy()
  }

  /** Rejects if the response is missing or incomplete. */
  async send(exchange: Exchange): Promise<RawAnswer> {
    for (;;) {
      try {
        return await this.#once(exchange)
      } catch (error) {
        // the peer closed the connection while it was idle; at worst the hub gets the request twice and applies it
        // once; each attempt uses up an idle connection
        if (!(error instanceof ReusedSocketError) || exchange.signal.aborted) throw error
      }
    }
  }

  #once({ method, path, headers, body, maxAnswerBytes, signal }: Exchange): Promise<RawAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
    const start = this.#base.protocol === 'https:' ? requestHttps : requestHttp
    const url = new URL(this.#base.pathname.replace(/\/$/, '') + path, this.#base)
    const request = start(url, { method, headers, agent: this.#agent, signal })
    let isAnswered = false
    request.on('response', (response) => {
      isAnswered = true
      readText(response, maxAnswerBytes).then(
        (text) => resolve(toRawAnswer(response, text)),
        (error) => {
          request.destroy()
          reject(error)
        },
      )
    })
    request.on('error', (error) => {
      const isClosedIdle = request.reusedSocket && !isAnswered && CLOSED_CODES.includes(Reflect.get(error, 'code'))
      reject(isClosedIdle ? new ReusedSocketError('closed while idle', { cause: error }) : error)
    })
    request.end(body)
    return promise
  }
}

/** Errors of a request on a connection that the peer has closed. */
const CLOSED_CODES: readonly unknown[] = ['ECONNRESET', 'EPIPE']

class ReusedSocketError extends Error {}

async function readText(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new ResponseTooLargeError(`the response is longer than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  if (!response.complete) throw new Error('the answer was cut off')
  return Buffer.concat(chunks).toString('utf8')
}

function toRawAnswer({ statusCode = 0, headers }: IncomingMessage, text: string): RawAnswer {
  return { status: statusCode, text, retryAfter: headers['retry-after'], hubMs: readTime(headers) }
}

/** Returns the hub's time. An older hub sends only the standard `Date` header, in seconds. */
function readTime({ [HUB_TIME_HEADER]: time, date }: IncomingHttpHeaders): number | null {
  const timeMs = typeof time === 'string' && /^\d{1,15}$/.test(time) ? Number(time) : Date.parse(date ?? '')
  return Number.isNaN(timeMs) ? null : timeMs
}
