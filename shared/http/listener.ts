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

/** Time for a request head to arrive, from the connection or the last response. */
const HEADERS_MS = 30_000
const MOST_REQUEST_MS = 300_000
/** Makes browsers use HTTPS for a year, whatever scheme a link has. */
const HSTS = 'max-age=31536000'
/** Interval at which Node checks these timeouts. */
const CHECK_MS = 5_000
/** Host of an HTTP/1.0 request, which may omit it. */
const UNNAMED_HOST = 'localhost'

export interface HttpListenerOptions {
  host: string
  port: number
  /** HTTPS instead of HTTP; requires `setSecureContext` before the start. */
  isSecure: boolean
  /** Accepts HTTP on the HTTPS port as well, detected by the first byte, so that clients without TLS keep working. */
  takesPlain?: boolean
  /** Maximum time for which `drain` waits for active requests. */
  drainMs: number
  /** Connection limit per address; unlimited if absent. A connection returns its slot when it becomes a WebSocket. */
  sockets?: Slots
  /** Trusted proxies, whose connections do not count, because each proxy serves many clients. */
  addresses?: ClientAddresses
  /** Time for a request to arrive, in ms; Node's default is 5 minutes. */
  requestMs?: number
  /** Time for which an idle connection stays open, in ms; Node's default is 5 s. */
  keepAliveMs?: number
  /** Counts connections that are closed because the client does not read: `http_unread`, `http_stalled`. */
  closed?: Counter
}

/** Listens for HTTP or HTTPS and passes on upgrade requests. */
export class HttpListener implements Component {
  readonly #options: HttpListenerOptions
  readonly #server: Server | SecureServer
  readonly #connections: HttpConnections
  readonly #sockets = new Set<Socket>()
  /** Budget keys of the used slots, by the remote endpoint: with TLS a request arrives on another socket object. */
  readonly #places = new Map<string, string>()
  /** True if responses carry HSTS. */
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
      // rejected later, with a body that names the reason
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

  /** Sets the certificate, at any time; open connections keep theirs. Sends HSTS if all browsers trust it. */
  setSecureContext(options: SecureContextOptions, isTrustedByAll: boolean): void {
    if ('setSecureContext' in this.#server) this.#server.setSecureContext(options)
    // with HSTS, the warning of a browser that no longer trusts the certificate could not be bypassed
    this.#forbidsHttp = isTrustedByAll
  }

  /** Throws if the port is not available. */
  async start(): Promise<void> {
    const { host, port } = this.#options
    await listenOn(this.#server, { host, port, backlog: 1024 })
    this.#connections.start()
  }

  /** Stops accepting requests; active ones continue until `drain`. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return
    this.#closed = new Promise((resolve) => this.#server.close(() => resolve()))
    this.#server.closeIdleConnections()
  }

  /** Waits for active requests up to `drainMs`; WebSockets must have been closed before. */
  async drain(): Promise<void> {
    const { drainMs } = this.#options
    const cutOff = setTimeout(() => {
      // closeAllConnections omits connections in their TLS handshake
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

  /** URL under which this computer reaches the listener. */
  get url(): string {
    const address = this.#server.address()
    if (typeof address !== 'object' || address === null) throw new Error('not listening')
    const { host, isSecure } = this.#options
    return `${isSecure ? 'https' : 'http'}://${urlHost(host)}:${address.port}`
  }
}

/** Responds to requests that do not reach the app because the library cannot parse their URL. */
function answerError(error: unknown): Response {
  if (!(error instanceof RequestError)) return new Response(null, { status: 500 })
  const requestId = newUuid()
  const refusal = new InvalidRequestError('invalid_request', 'the URL or the Host header is invalid')
  const { status, body, headers } = problemOf(refusal, requestId)
  return Response.json(body, { status, headers: { ...headers, 'x-request-id': requestId } })
}

/** First byte of a TLS connection: a handshake record. Source: RFC 8446, section 5.1. */
const TLS_HANDSHAKE = 22

/** Makes an HTTPS server accept HTTP too: through `secureConnection`, so limits, upgrades and shutdown are shared. */
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
      // the new listeners are attached by then
      setImmediate(() => socket.resume())
    })
  })
}

/** Identifies a connection while it is open. */
function endpointOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

/** Returns the host for a URL on this computer, from the host to listen on. */
export function urlHost(host: string): string {
  if (isEveryAddress(host)) return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}

/** True if a listener on this host is reachable only from this computer. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}
