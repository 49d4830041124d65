import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { PacedResponse } from './paced-response.ts'

/** End of a request head. Node's parser accepts no other. Source: RFC 9112 2.1. */
const HEAD_END = Buffer.from('\r\n\r\n')
/** Minimum slice of a body, to limit parser calls; after the body's end it may hold a few of the shortest requests. */
const BODY_SLICE_BYTES = 128

interface Exchange {
  request: IncomingMessage
  response: PacedResponse
}

interface TurnsOptions {
  /** Handles a request; called when the previous response is sent. */
  answer(request: IncomingMessage, response: PacedResponse): void
  /** Receives the number of bytes that the connection keeps in memory whenever it changes. */
  onWaiting(bytes: number): void
}

/**
 * Requests of one connection, handled one after another. Node parses all requests of a chunk immediately, and its
 * backpressure for a slow reader takes effect only at the next chunk. So the parser receives the chunk in slices that
 * end one request head each, the next slice when the system has accepted the whole previous response. Until then the
 * bytes stay unparsed, and the connection is not read.
 */
export class RequestTurns {
  readonly #socket: Socket
  readonly #options: TurnsOptions
  /** Node's own listener, which parses the bytes. */
  readonly #parse: (bytes: Buffer) => void
  readonly #take = (chunk: Buffer) => {
    this.#rest = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk])
    this.#goOn()
  }
  /** Requests that the last slice contained after the current one: a few at most. */
  readonly #queue: Exchange[] = []
  #current: Exchange | undefined
  #rest: Buffer | undefined
  /** Size of the response that is not fully sent yet. */
  #responseBytes = 0
  #isParsing = false
  #isPaused = false
  #isOver = false

  /** Takes over a connection to which a Node server has attached its listeners. */
  constructor(socket: Socket, options: TurnsOptions) {
    this.#socket = socket
    this.#options = options
    const [parse, ...others] = socket.listeners('data')
    if (parse === undefined || others.length > 0) throw new Error('the connection has other readers besides HTTP')
    this.#parse = (bytes) => parse.call(socket, bytes)
    socket.on('data', this.#take)
    socket.removeListener('data', parse as () => void)
    socket.once('close', () => this.release())
  }

  /** Adds a request that Node has parsed. */
  add(request: IncomingMessage, response: PacedResponse): void {
    this.#queue.push({ request, response })
    if (!this.#isParsing) this.#goOn()
  }

  /** True if the head of the current response is sent or about to be, so that no other response is possible. */
  get hasBegun(): boolean {
    return this.#current?.response.headersSent === true
  }

  /** Stops handling: further input is not HTTP, or ignored. Unparsed bytes can be read from the connection. */
  release(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#queue.length = 0
    this.#socket.removeListener('data', this.#take)
    if (this.#rest !== undefined && !this.#socket.destroyed) this.#socket.unshift(this.#rest)
    this.#rest = undefined
    this.#responseBytes = 0
    this.#options.onWaiting(0)
  }

  #goOn(): void {
    if (this.#isParsing) return
    this.#isParsing = true
    while (!this.#isOver) {
      if (this.#current === undefined) this.#beginNext()
      // the current request waits for the rest of its body
      if (this.#rest === undefined || this.#current?.request.complete === true) break
      this.#parse(this.#nextSlice(this.#rest))
    }
    this.#isParsing = false
    if (this.#isOver) return
    this.#pauseOrResume()
    this.#reportWaiting()
  }

  #nextSlice(rest: Buffer): Buffer {
    const found = rest.indexOf(HEAD_END, this.#current === undefined ? 0 : BODY_SLICE_BYTES)
    const end = found < 0 ? rest.length : found + HEAD_END.length
    this.#rest = end < rest.length ? rest.subarray(end) : undefined
    return rest.subarray(0, end)
  }

  #beginNext(): void {
    const next = this.#queue.shift()
    if (next === undefined) return
    if (this.#socket.writableEnded) {
      this.#queue.length = 0
      this.#rest = undefined
      return
    }
    this.#current = next
    const { request, response } = next
    response.onMade = (bytes) => {
      this.#responseBytes = bytes
      this.#reportWaiting()
    }
    response.once('finish', () => this.#end(next))
    response.once('close', () => this.#end(next))
    this.#options.answer(request, response)
  }

  #end(exchange: Exchange): void {
    if (this.#current !== exchange) return
    this.#current = undefined
    this.#responseBytes = 0
    this.#goOn()
  }

  #pauseOrResume(): void {
    const mustPause = this.#rest !== undefined
    // Node may have resumed reading to drain the body of a request
    if (mustPause) this.#socket.pause()
    else if (this.#isPaused) this.#socket.resume()
    this.#isPaused = mustPause
  }

  #reportWaiting(): void {
    this.#options.onWaiting((this.#rest?.buffer.byteLength ?? 0) + this.#responseBytes)
  }
}
