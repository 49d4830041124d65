import { once } from 'node:events'
import type { IncomingMessage, Server } from 'node:http'
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { SecureContextOptions } from 'node:tls'
import { createAdaptorServer } from '@hono/node-server'
import type { Part } from '#shared/lifecycle.ts'
import { HANDSHAKE_TIMEOUT_MS } from '#shared/tls.ts'

export interface HttpListenerOptions {
  host: string
  port: number
  /** HTTPS instead of HTTP; then it needs `setSecureContext` before it starts. */
  isSecure: boolean
  /** How long `drain` waits for requests under way. */
  drainMs: number
  /** How long a connection without a request stays open, where Node's own 5 s are too few. */
  keepAliveMs?: number
}

/** Listens for HTTP or HTTPS and hands upgrade requests on. */
export class HttpListener implements Part {
  readonly #options: HttpListenerOptions
  readonly #server: Server | SecureServer
  readonly #sockets = new Set<Socket>()
  #closed: Promise<void> = Promise.resolve()

  constructor(
    options: HttpListenerOptions,
    fetch: Parameters<typeof createAdaptorServer>[0]['fetch'],
    onUpgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void,
  ) {
    this.#options = options
    const serverOptions = { handshakeTimeout: HANDSHAKE_TIMEOUT_MS }
    // createAdaptorServer makes an HTTP/1 server unless told otherwise, and is told HTTPS/1.1 at most
    this.#server = createAdaptorServer(
      options.isSecure ? { fetch, createServer: createSecureServer, serverOptions } : { fetch },
    ) as Server | SecureServer
    if (options.keepAliveMs !== undefined) this.#server.keepAliveTimeout = options.keepAliveMs
    if (onUpgrade !== undefined) this.#server.on('upgrade', onUpgrade)
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  /** Gives it a certificate, before it starts or at any later time; open connections go on with theirs. */
  setSecureContext(options: SecureContextOptions): void {
    if ('setSecureContext' in this.#server) this.#server.setSecureContext(options)
  }

  /** Throws when the port cannot be had. */
  async start(): Promise<void> {
    this.#server.listen({ port: this.#options.port, host: this.#options.host, backlog: 1024 })
    await once(this.#server, 'listening')
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
  }

  /** An address of this machine that reaches it. */
  get url(): string {
    const address = this.#server.address()
    if (typeof address !== 'object' || address === null) throw new Error('not listening')
    const { host, isSecure } = this.#options
    return `${isSecure ? 'https' : 'http'}://${shownHost(host)}:${address.port}`
  }
}

/** A host to listen on, as a URL of this machine names it. */
export function shownHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
