import type { IncomingMessage, Server } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import { Socket } from 'node:net'
import { addressOwner } from '#shared/budgets/address.ts'
import { remoteAddressOf } from '#shared/budgets/listen.ts'
import type { Counter } from '#shared/counter.ts'
import { AppError, InvalidRequestError } from '#shared/errors.ts'
import type { ClientAddresses } from '../client-address.ts'
import { FairStart } from './fair-start.ts'
import { PacedResponse } from './paced-response.ts'
import { refuseConnection, refuseRequest, unreadable } from './raw-refusal.ts'
import { RequestTurns } from './request-turns.ts'
import { WaitingBytes } from './waiting-bytes.ts'

const MB = 1 << 20
const LIMITS = { perOwner: 32 * MB, total: 64 * MB }
const CHECK_MS = 5_000
/** Time for which a client may read nothing of a response. */
const STALL_MS = 60_000
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i

interface ConnectionsOptions {
  /** Addresses of trusted proxies, whose connections are not counted together: each serves another client. */
  addresses: ClientAddresses | undefined
  /** Counts closed connections: `http_unread` for too many bytes, `http_stalled` for too long. */
  closed: Counter
  answer(request: IncomingMessage, response: PacedResponse): void
}

interface Connection {
  readonly turns: RequestTurns
  /** Bytes that the system had accepted at the last check. */
  takenBytes: number
  /** Number of checks since then without progress. */
  stalledChecks: number
}

/**
 * Connections of an HTTP server until they are closed or upgraded. Each handles one request at a time, uses bounded
 * memory for a client that does not read, and responds to input that is not valid HTTP.
 */
export class HttpConnections {
  readonly #options: ConnectionsOptions
  readonly #waiting: WaitingBytes
  readonly #open = new Map<Socket, Connection>()
  readonly #start = new FairStart()
  #check: NodeJS.Timeout | undefined

  constructor(server: Server | SecureServer, event: 'connection' | 'secureConnection', options: ConnectionsOptions) {
    this.#options = options
    for (const reason of ['http_unread', 'http_stalled']) options.closed.add(reason, 0)
    this.#waiting = new WaitingBytes(LIMITS, () => options.closed.add('http_unread'))
    // runs after Node's own listener, which starts to read
    server.on(event, (socket: Socket) => this.#add(socket))
    const take = (request: IncomingMessage, response: unknown) => {
      if (response instanceof PacedResponse) this.#open.get(request.socket)?.turns.add(request, response)
    }
    server.on('request', take)
    server.on('checkExpectation', take)
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => this.#refuse(error, socket))
  }

  start(): void {
    this.#check = setInterval(() => this.#cutStalled(), CHECK_MS)
    this.#check.unref()
  }

  stop(): void {
    clearInterval(this.#check)
  }

  /** Releases a connection that becomes a WebSocket. */
  release(socket: Socket): void {
    this.#open.get(socket)?.turns.release()
    this.#open.delete(socket)
  }

  #add(socket: Socket): void {
    const address = remoteAddressOf(socket)
    const isProxy = this.#options.addresses?.isProxy(address) === true
    const waiting = {
      owner: isProxy ? `${address} ${socket.remotePort}` : addressOwner(address),
      cut: () => socket.destroy(),
    }
    const turns = new RequestTurns(socket, {
      answer: (request, response) => this.#start.add(waiting.owner, () => this.#answer(request, response)),
      onWaiting: (bytes) => this.#waiting.set(waiting, bytes),
    })
    this.#open.set(socket, { turns, takenBytes: 0, stalledChecks: 0 })
    socket.once('close', () => this.#open.delete(socket))
  }

  #answer(request: IncomingMessage, response: PacedResponse): void {
    // the client disconnected while the request was queued
    if (response.destroyed) return
    const error = refusalOf(request)
    if (error === undefined) this.#options.answer(request, response)
    else refuseRequest(response, error)
  }

  #refuse({ code }: NodeJS.ErrnoException, stream: unknown): void {
    if (!(stream instanceof Socket)) return
    const connection = this.#open.get(stream)
    // a failed handshake, a disconnected client, or a response that has started
    if (connection === undefined || code === 'ECONNRESET' || !stream.writable || connection.turns.hasBegun) {
      stream.destroy()
      return
    }
    connection.turns.release()
    refuseConnection(stream, unreadable(code))
  }

  #cutStalled(): void {
    for (const [socket, connection] of this.#open) {
      const takenBytes = socket.bytesWritten - socket.writableLength
      const isStalled = socket.writableLength > 0 && takenBytes === connection.takenBytes
      connection.stalledChecks = isStalled ? connection.stalledChecks + 1 : 0
      connection.takenBytes = takenBytes
      if (connection.stalledChecks < STALL_MS / CHECK_MS) continue
      this.#options.closed.add('http_stalled')
      socket.destroy()
    }
  }
}

/** Returns the error of a request that is rejected before it reaches an app. Source: RFC 9112 3.2, RFC 9110 10.1.1. */
function refusalOf({ httpVersion, rawHeaders, headers }: IncomingMessage): AppError | undefined {
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.length === 4 && /^host$/i.test(name)).length
  if (hosts > 1) return new InvalidRequestError('invalid_request', 'send exactly one Host header')
  if (httpVersion !== '1.1') return undefined
  if (hosts === 0) return new InvalidRequestError('invalid_request', 'send a Host header')
  if (headers.expect === undefined || CONTINUE.test(headers.expect)) return undefined
  return new AppError('expectation_failed', 'expectation_failed', 'the only supported Expect is 100-continue')
}
