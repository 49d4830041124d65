import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { SecureContextOptions } from 'node:tls'
import { getRequestListener, RequestError } from '@hono/node-server'
import { addressOwner } from '#shared/budgets/address.ts'
import { isEveryAddress, listenOn, remoteAddressOf } from '#shared/budgets/listen.ts'
import type { Slots } from '#shared/budgets/slots.ts'
import { Counter } from '#shared/counter.ts'
import { InvalidRequestError } from '#shared/errors.ts'
import { newUuid } from '#shared/ids.ts'
import type { Component } from '#shared/lifecycle.ts'
import { HANDSHAKE_TIMEOUT_MS } from '#shared/tls.ts'
import type { ClientAddresses } from './client-address.ts'
import { HttpConnections } from './connections/connections.ts'
import { PacedResponse } from './connections/paced-response.ts'
import { problemOf } from './problem.ts'

/** How long the head of a request may take to arrive, from the connection or the last answer on. */
const HEADERS_MS = 30_000
const MOST_REQUEST_MS = 300_000
/** Browsers use HTTPS for a year, whatever a link says. */
const HSTS = 'max-age=31536000'
/** How often it is looked whether one takes too long. */
const CHECK_MS = 5_000
/** Stands for the host of a request of HTTP/1.0, which needs none. */
const UNNAMED_HOST = 'localhost'

export interface HttpListenerOptions {
  host: string
  port: number
  /** HTTPS instead of HTTP; then it needs `setSecureContext` before it starts. */
  isSecure: boolean
  /** HTTP beside HTTPS on the same port, told by the first byte: whoever does not know of TLS yet goes on. */
  takesPlain?: boolean
  /** How long `drain` waits for requests under way. */
  drainMs: number
  /** By address, or none counted; a connection gives its place back when it becomes a WebSocket. */
  sockets?: Slots
  /** Whose connections do not count: each of them stands for many people. */
  addresses?: ClientAddresses
  /** How long a request may take to arrive, where Node's own 5 minutes are too many. */
  requestMs?: number
  /** How long a connection without a request stays open, where Node's own 5 s are too few. */
  keepAliveMs?: number
  /** Counts connections that are closed for what their clients do not read: `http_unread`, `http_stalled`. */
  closed?: Counter
}

/** Listens for HTTP or HTTPS and hands upgrade requests on. */
export class HttpListener implements Component {
  readonly #options: HttpListenerOptions
  readonly #server: Server | SecureServer
  readonly #connections: HttpConnections
  readonly #sockets = new Set<Socket>()
  /** Whose places are taken, by the far end of the connection: with TLS a request comes on another socket object. */
  readonly #places = new Map<string, string>()
  /** Says that browsers are never to use HTTP with this host again. */
  #forbidsHttp = false
  #closed: Promise<void> = Promise.resolve()

  constructor(
    options: HttpListenerOptions,
    fetch: Parameters<typeof getRequestListener>[0],
    onUpgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void,
  ) {
    this.#options = options
    const { requestMs = MOST_REQUEST_MS } = options
    const plainOptions = {
      ServerResponse: PacedResponse,
      headersTimeout: HEADERS_MS,
      requestTimeout: requestMs,
      connectionsCheckingInterval: CHECK_MS,
      // refused with a body that says why
      requireHostHeader: false,
    }
    this.#server = options.isSecure
      ? createSecureServer({ ...plainOptions, handshakeTimeout: HANDSHAKE_TIMEOUT_MS })
      : createServer(plainOptions)
    const answer = getRequestListener(fetch, { hostname: UNNAMED_HOST, errorHandler: answerError })
    const { addresses, closed = new Counter() } = options
    this.#connections = new HttpConnections(this.#server, options.isSecure ? 'secureConnection' : 'connection', {
      addresses,
      closed,
      answer: (request, response) => {
        if (this.#forbidsHttp) response.setHeader('Strict-Transport-Security', HSTS)
        void answer(request, response)
      },
    })
    if (options.keepAliveMs !== undefined) this.#server.keepAliveTimeout = options.keepAliveMs
    if (onUpgrade !== undefined)
      this.#server.on('upgrade', (request, socket, head) => {
        this.#giveBack(endpointOf(request.socket))
        this.#connections.release(request.socket)
        onUpgrade(request, socket, head)
      })
    if (options.isSecure && options.takesPlain) takePlain(this.#server)
    this.#server.prependListener('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
      this.#admit(socket)
    })
  }

  /**
   * Gives it a certificate, before it starts or at any later time; open connections go on with theirs. Of one that all
   * browsers trust, they are told to stay with HTTPS.
   */
  setSecureContext(options: SecureContextOptions, isTrustedByAll: boolean): void {
    if ('setSecureContext' in this.#server) this.#server.setSecureContext(options)
    // nobody could get past the warning of a browser that trusted it once and does no more
    this.#forbidsHttp = isTrustedByAll
  }

  /** Throws when the port cannot be had. */
  async start(): Promise<void> {
    const { host, port } = this.#options
    await listenOn(this.#server, { host, port, backlog: 1024 })
    this.#connections.start()
  }

  /** Takes no more requests; those under way go on until `drain`. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return
    this.#closed = new Promise((resolve) => this.#server.close(() => resolve()))
    this.#server.closeIdleConnections()
  }

  /** Waits for requests under way, for a while; WebSockets must have been closed before. */
  async drain(): Promise<void> {
    const { drainMs } = this.#options
    const cutOff = setTimeout(() => {
      // closeAllConnections leaves out those that are still in their TLS handshake
      for (const socket of this.#sockets) socket.destroy()
    }, drainMs)
    await Promise.race([this.#closed, new Promise((resolve) => setTimeout(resolve, 2 * drainMs).unref())])
    clearTimeout(cutOff)
    this.#connections.stop()
  }

  #admit(socket: Socket): void {
    const { sockets, addresses } = this.#options
    const address = remoteAddressOf(socket)
    if (sockets === undefined || addresses?.isProxy(address)) return
    const owner = addressOwner(address)
    if (!sockets.take(owner)) {
      socket.destroy()
      return
    }
    const endpoint = endpointOf(socket)
    this.#places.set(endpoint, owner)
    socket.once('close', () => this.#giveBack(endpoint))
  }

  #giveBack(endpoint: string): void {
    const owner = this.#places.get(endpoint)
    if (owner === undefined) return
    this.#places.delete(endpoint)
    this.#options.sockets?.release(owner)
  }

  /** An address of this machine that reaches it. */
  get url(): string {
    const address = this.#server.address()
    if (typeof address !== 'object' || address === null) throw new Error('not listening')
    const { host, isSecure } = this.#options
    return `${isSecure ? 'https' : 'http'}://${urlHost(host)}:${address.port}`
  }
}

/** Answers what no app sees: the library cannot read its address. */
function answerError(error: unknown): Response {
  if (!(error instanceof RequestError)) return new Response(null, { status: 500 })
  const requestId = newUuid()
  const refusal = new InvalidRequestError('invalid_request', 'the address or the Host cannot be read')
  const { status, body, headers } = problemOf(refusal, requestId)
  return Response.json(body, { status, headers: { ...headers, 'x-request-id': requestId } })
}

/** The first byte of a TLS connection: a record with a handshake. Source: RFC 8446, section 5.1. */
const TLS_HANDSHAKE = 22

/**
 * Has an HTTPS server serve HTTP as well. It hands connections to HTTP by its event `secureConnection`, so that a plain
 * one has the same limits, upgrades and end.
 */
function takePlain(server: Server | SecureServer): void {
  const handshakes = server.listeners('connection')
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    const silence = setTimeout(() => socket.destroy(), HANDSHAKE_TIMEOUT_MS)
    const ignore = () => undefined
    socket.once('close', () => clearTimeout(silence))
    socket.on('error', ignore)
    socket.once('data', (chunk: Buffer) => {
      clearTimeout(silence)
      socket.off('error', ignore)
      socket.pause()
      socket.unshift(chunk)
      if (chunk[0] === TLS_HANDSHAKE) for (const begin of handshakes) begin.call(server, socket)
      else server.emit('secureConnection', socket)
      // whoever has it now listens by then
      setImmediate(() => socket.resume())
    })
  })
}

/** What names a connection as long as it is open. */
function endpointOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

/** A host to listen on, as a URL of this machine names it. */
export function urlHost(host: string): string {
  if (isEveryAddress(host)) return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}

/** Whether only this machine reaches what listens on a host. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}
