import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { PacedResponse } from './paced-response.ts'

/** The end of the head of a request. Node's parser takes no other. Source: RFC 9112 2.1. */
const HEAD_END = Buffer.from('\r\n\r\n')
/** Shorter slices of a body are not worth a call of the parser; behind its end a few of the shortest requests fit. */
const BODY_SLICE_BYTES = 128

interface Exchange {
  request: IncomingMessage
  response: PacedResponse
}

interface TurnsOptions {
  /** Works on a request; called when the response before it is out. */
  answer(request: IncomingMessage, response: PacedResponse): void
  /** Receives how many bytes the connection keeps in memory whenever that changes. */
  onWaiting(bytes: number): void
}

/**
 * The requests of one connection, one after the other. Node parses all requests of a chunk at once, and its pause of a
 * slow reader acts on the next chunk only. So its parser gets the chunk in slices with the end of one head in each, the
 * next slice when the system has taken the whole response before; until then bytes stay as they came, and the
 * connection is not read.
 */
export class RequestTurns {
  readonly #socket: Socket
  readonly #options: TurnsOptions
  /** Node's own listener, which parses. */
  readonly #parse: (bytes: Buffer) => void
  readonly #take = (chunk: Buffer) => {
    this.#rest = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk])
    this.#goOn()
  }
  /** Requests that the last slice held beside the current one: a few at most. */
  readonly #queue: Exchange[] = []
  #current: Exchange | undefined
  #rest: Buffer | undefined
  /** Of the response that is not out yet. */
  #responseBytes = 0
  #isParsing = false
  #isPaused = false
  #isOver = false

  /** Takes over a connection that a server of Node has begun to listen to. */
  constructor(socket: Socket, options: TurnsOptions) {
    this.#socket = socket
    this.#options = options
    const [parse, ...others] = socket.listeners('data')
    if (parse === undefined || others.length > 0) throw new Error('this connection is not read by HTTP alone')
    this.#parse = (bytes) => parse.call(socket, bytes)
    socket.on('data', this.#take)
    socket.removeListener('data', parse as () => void)
    socket.once('close', () => this.release())
  }

  /** Takes a request that Node has parsed. */
  add(request: IncomingMessage, response: PacedResponse): void {
    this.#queue.push({ request, response })
    if (!this.#isParsing) this.#goOn()
  }

  /** The head of the current response is sent, or about to be: nothing else can be sent instead. */
  get hasBegun(): boolean {
    return this.#current?.response.headersSent === true
  }

  /**
   * Ends: what comes now is another protocol, or of no interest. What was not parsed can be read from the connection.
   */
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
      // a body that is still to come is what its request waits for
      if (this.#rest === undefined || this.#current?.request.complete === true) break
      this.#parse(this.#nextSlice(this.#rest))
    }
    this.#isParsing = false
    if (this.#isOver) return
    this.#pauseOrResume()
    this.#tellWaiting()
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
      this.#tellWaiting()
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
    // Node itself may have begun to read again, to empty the body of a request
    if (mustPause) this.#socket.pause()
    else if (this.#isPaused) this.#socket.resume()
    this.#isPaused = mustPause
  }

  #tellWaiting(): void {
    this.#options.onWaiting((this.#rest?.buffer.byteLength ?? 0) + this.#responseBytes)
  }
}
