import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https'
import type { Socket } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import { createAdaptorServer } from '@hono/node-server'
import type { createApp } from '#api/app.ts'
import { HANDSHAKE_TIMEOUT_MS } from '#broker/listeners/tls.ts'
import type { Part } from '#shared/lifecycle.ts'
import type { createUpgradeHandler } from './upgrades.ts'

export interface HttpListenerOptions {
  host: string
  port: number
  /** HTTPS instead of HTTP; then it needs `setSecureContext` before it starts. */
  isSecure: boolean
}

const DRAIN_MS = 1_000

/** Listens for HTTP or HTTPS and hands upgrade requests on. */
export class HttpListener implements Part {
  readonly #options: HttpListenerOptions
  readonly #server: Server | SecureServer
  readonly #sockets = new Set<Socket>()
  #closed: Promise<void> = Promise.resolve()

  constructor(
    options: HttpListenerOptions,
    fetch: ReturnType<typeof createApp>['fetch'],
    onUpgrade: ReturnType<typeof createUpgradeHandler>,
  ) {
    this.#options = options
    const serverOptions = { handshakeTimeout: HANDSHAKE_TIMEOUT_MS }
    // createAdaptorServer makes an HTTP/1 server unless told otherwise, and is told HTTPS/1.1 at most
    this.#server = createAdaptorServer(
      options.isSecure ? { fetch, createServer: createSecureServer, serverOptions } : { fetch },
    ) as Server | SecureServer
    this.#server.on('upgrade', onUpgrade)
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
    const cutOff = setTimeout(() => {
      // closeAllConnections leaves out those that are still in their TLS handshake
      for (const socket of this.#sockets) socket.destroy()
    }, DRAIN_MS)
    await Promise.race([this.#closed, new Promise((resolve) => setTimeout(resolve, 2 * DRAIN_MS).unref())])
    clearTimeout(cutOff)
  }

  get port(): number {
    const address = this.#server.address()
    if (typeof address !== 'object' || address === null) throw new Error('not listening')
    return address.port
  }
}
