import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Part } from '../../shared/lifecycle.ts'

export interface TcpListenerOptions {
  host: string
  port: number
  maxConnections: number
}

/** Listens for MQTT over TCP. */
export class TcpListener implements Part {
  readonly #options: TcpListenerOptions
  readonly #onConnection: (stream: Duplex, address: string) => void
  readonly #onDropped: () => void
  #server: Server | undefined

  constructor(
    options: TcpListenerOptions,
    onConnection: (stream: Duplex, address: string) => void,
    onDropped: () => void,
  ) {
    this.#options = options
    this.#onConnection = onConnection
    this.#onDropped = onDropped
  }

  /** Throws when the port cannot be had. */
  async start(): Promise<void> {
    const server = createServer(
      { noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 },
      (socket) => {
        this.#onConnection(socket, socket.remoteAddress ?? 'unknown')
      },
    )
    server.maxConnections = this.#options.maxConnections
    server.on('drop', this.#onDropped)
    server.listen({ port: this.#options.port, host: this.#options.host, backlog: 1024 })
    await once(server, 'listening')
    this.#server = server
  }

  /** Takes no more connections; those that are open are the broker's to close. */
  async stop(): Promise<void> {
    this.#server?.close()
    this.#server = undefined
  }

  /** The port in use, also when 0 was asked for. */
  get port(): number {
    const address = this.#server?.address()
    if (typeof address !== 'object' || address === null) throw new Error('not listening')
    return address.port
  }
}
