import { createServer, type Server, type Socket } from 'node:net'
import { Fifo } from '#shared/budgets/fifo.ts'
import { listenOn, remoteAddressOf } from '#shared/budgets/listen.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { AdmissionRefusal, Connections } from './admission.ts'

/**
 * Connections the kernel holds until they are taken, as far as its own limit goes (net.core.somaxconn). When a whole
 * course comes back at once and there is no room, the rest is dropped and tries again after a second.
 */
const BACKLOG = 4096

/** How long new connections are handed over in one turn of the event loop. */
const TURN_MS = 1

export interface TcpListenerOptions {
  host: string
  port: number
  /** Shared with the other listeners, and with it the limit. */
  connections: Connections
  /** Each connection begins with a handshake of TLS. */
  isHandshake?: boolean
}

/** What becomes of connections. */
export interface TcpListenerEvents {
  onConnection: (socket: Socket, address: string) => void
  /** More than a limit. */
  onDropped: (reason: AdmissionRefusal, address: string) => void
}

/** Listens for MQTT over TCP. */
export class TcpListener implements Component {
  readonly #options: TcpListenerOptions
  readonly #events: TcpListenerEvents
  readonly #waiting = new Fifo<{ socket: Socket; address: string }>()
  #server: Server | undefined

  constructor(options: TcpListenerOptions, events: TcpListenerEvents) {
    this.#options = options
    this.#events = events
  }

  /** Throws when the port cannot be had. */
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

  // The system hands over all that wait at once; a thousand in one go would hold up everybody who is there already.
  #arrived(socket: Socket, address: string): void {
    // one that breaks while it waits is nobody's yet
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
