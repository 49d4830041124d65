import { createServer, type Server, type Socket } from 'node:net'
import { Fifo } from '#shared/budgets/fifo.ts'
import { listenOn, remoteAddressOf } from '#shared/budgets/listen.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { AdmissionRefusal, Connections } from './admission.ts'

/**
 * Connections that the kernel queues until they are accepted, up to its own limit (net.core.somaxconn). When a whole
 * course reconnects together and the queue is full, the rest is dropped and retries after a second.
 */
const BACKLOG = 4096

/** Time for passing on new connections in one event-loop tick. */
const TURN_MS = 1

export interface TcpListenerOptions {
  host: string
  port: number
  /** Shared with the other listeners, and so are its limits. */
  connections: Connections
  /** True if each connection begins with a TLS handshake. */
  isHandshake?: boolean
}

export interface TcpListenerEvents {
  onConnection: (socket: Socket, address: string) => void
  onDropped: (reason: AdmissionRefusal, address: string) => void
}

export class TcpListener implements Component {
  readonly #options: TcpListenerOptions
  readonly #events: TcpListenerEvents
  readonly #waiting = new Fifo<{ socket: Socket; address: string }>()
  #server: Server | undefined

  constructor(options: TcpListenerOptions, events: TcpListenerEvents) {
    this.#options = options
    this.#events = events
  }

  /** Throws if the port cannot be opened. */
  async start(): Promise<void> {
    const { host, port, connections, isHandshake = false } = this.#options
    const server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 }, (socket) => {
      const address = remoteAddressOf(socket)
      const refusal = connections.admit(socket, address, { isHandshake })
      if (refusal === undefined) {
        this.#arrived(socket, address)
      } else {
        socket.destroy()
        this.#events.onDropped(refusal, address)
      }
    })
    await listenOn(server, { port, host, backlog: BACKLOG })
    this.#server = server
  }

  // The system passes on all waiting connections together; a thousand in one tick would delay all connected clients.
  #arrived(socket: Socket, address: string): void {
    // handles an error before the broker does
    socket.on('error', () => socket.destroy())
    this.#waiting.push({ socket, address })
    if (this.#waiting.length === 1) setImmediate(() => this.#handOver())
  }

  #handOver(): void {
    const endsAtMs = performance.now() + TURN_MS
    while (performance.now() < endsAtMs) {
      const next = this.#waiting.take()
      if (next === undefined) return
      if (!next.socket.destroyed) this.#events.onConnection(next.socket, next.address)
    }
    if (this.#waiting.length > 0) setImmediate(() => this.#handOver())
  }

  /** Stops accepting connections; the broker closes the open ones. */
  async stop(): Promise<void> {
    this.#server?.close()
    this.#server = undefined
  }

  /** Port in use, also if 0 was requested. */
  get port(): number {
    const address = this.#server?.address()
    if (typeof address !== 'object' || address === null) throw new Error('not listening')
    return address.port
  }
}
