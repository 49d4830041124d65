import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import type { Part } from '../../shared/lifecycle.ts'
import type { AdmissionRefusal, Connections } from './connections.ts'

/**
 * Connections the kernel holds until they are taken, as far as its own limit goes (net.core.somaxconn). When a whole
 * course comes back at once and there is no room, the rest is dropped and tries again after a second.
 */
const BACKLOG = 4096

export interface TcpListenerOptions {
  host: string
  port: number
  /** Shared with the other listeners, and with it the limit. */
  connections: Connections
}

/** What becomes of connections. */
export interface TcpListenerEvents {
  onConnection: (socket: Socket, address: string) => void
  /** More than a limit. */
  onDropped: (reason: AdmissionRefusal, address: string) => void
}

/** Listens for MQTT over TCP. */
export class TcpListener implements Part {
  readonly #options: TcpListenerOptions
  readonly #events: TcpListenerEvents
  #server: Server | undefined

  constructor(options: TcpListenerOptions, events: TcpListenerEvents) {
    this.#options = options
    this.#events = events
  }

  /** Throws when the port cannot be had. */
  async start(): Promise<void> {
    const { host, port, connections } = this.#options
    const server = createServer(
      { noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 },
      (socket) => {
        const address = socket.remoteAddress ?? 'unknown'
        const refusal = connections.admit(socket, address)
        if (refusal === undefined) {
          this.#events.onConnection(socket, address)
        } else {
          socket.destroy()
          this.#events.onDropped(refusal, address)
        }
      },
    )
    server.listen({ port, host, backlog: BACKLOG })
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
