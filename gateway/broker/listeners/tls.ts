import type { Socket } from 'node:net'
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls'
import type { Component } from '#shared/lifecycle.ts'
import { HANDSHAKE_TIMEOUT_MS } from '#shared/tls.ts'
import { TcpListener, type TcpListenerEvents, type TcpListenerOptions } from './tcp.ts'

/** Callbacks for connections; `onConnection` is called after the handshake. */
export interface TlsListenerEvents extends TcpListenerEvents {
  onHandshakeFailed: (address: string, cause: string) => void
}

/** Listens for MQTT over TLS: like TCP, with a handshake before a connection is passed on. */
export class TlsListener implements Component {
  readonly #events: TlsListenerEvents
  readonly #tcp: TcpListener
  readonly #tls: Server
  /** Connections in their handshake, keyed by the client's address and port. */
  readonly #handshakes = new Map<string, string>()

  constructor(options: TcpListenerOptions, events: TlsListenerEvents, handshakeTimeoutMs = HANDSHAKE_TIMEOUT_MS) {
    this.#events = events
    this.#tcp = new TcpListener(
      { ...options, isHandshake: true },
      {
        onConnection: (socket, address) => this.#shakeHands(socket, address),
        onDropped: events.onDropped,
      },
    )
    // never listens itself: it is given connections, so that TcpListener applies the same rules to both ports
    this.#tls = createServer({ handshakeTimeout: handshakeTimeoutMs })
    this.#tls.on('secureConnection', (stream) => this.#finish(stream))
    this.#tls.on('tlsClientError', (error: NodeJS.ErrnoException, stream) => {
      this.#fail(peerOf(stream), error.code ?? error.message)
      // after a timeout, Node leaves the socket open
      stream.destroy()
    })
  }

  /** Sets the certificate, before the start or at any later time; open connections keep theirs. */
  setSecureContext(options: SecureContextOptions): void {
    this.#tls.setSecureContext(options)
  }

  /** Throws if the port cannot be opened. */
  start(): Promise<void> {
    return this.#tcp.start()
  }

  stop(): Promise<void> {
    return this.#tcp.stop()
  }

  get port(): number {
    return this.#tcp.port
  }

  #shakeHands(socket: Socket, address: string): void {
    const peer = peerOf(socket)
    this.#handshakes.set(peer, address)
    // `tlsClientError` has no address for a client that has disconnected, so that case is handled here
    socket.once('close', () => this.#fail(peer, 'ECONNRESET'))
    this.#tls.emit('connection', socket)
  }

  #finish(stream: TLSSocket): void {
    const peer = peerOf(stream)
    const address = this.#handshakes.get(peer)
    this.#handshakes.delete(peer)
    if (address === undefined) stream.destroy()
    else this.#events.onConnection(stream, address)
  }

  #fail(peer: string, cause: string): void {
    const address = this.#handshakes.get(peer)
    if (address === undefined) return
    this.#handshakes.delete(peer)
    this.#events.onHandshakeFailed(address, cause)
  }
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
