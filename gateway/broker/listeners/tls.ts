import type { Socket } from 'node:net'
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls'
import type { Component } from '#shared/lifecycle.ts'
import { HANDSHAKE_TIMEOUT_MS } from '#shared/tls.ts'
import { TcpListener, type TcpListenerEvents, type TcpListenerOptions } from './tcp.ts'

/** What becomes of connections; `onConnection` is told of one when its handshake is done. */
export interface TlsListenerEvents extends TcpListenerEvents {
  onHandshakeFailed: (address: string, cause: string) => void
}

/** Listens for MQTT over TLS: TCP as without, and a handshake before the connection is anybody's. */
export class TlsListener implements Component {
  readonly #events: TlsListenerEvents
  readonly #tcp: TcpListener
  readonly #tls: Server
  /** Connections in their handshake, by the client's address and port. */
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
    // never listens itself: it is handed connections, so both ports obey the rules of TcpListener
    this.#tls = createServer({ handshakeTimeout: handshakeTimeoutMs })
    this.#tls.on('secureConnection', (stream) => this.#finish(stream))
    this.#tls.on('tlsClientError', (error: NodeJS.ErrnoException, stream) => {
      this.#fail(peerOf(stream), error.code ?? error.message)
      // after a timeout Node leaves the socket open
      stream.destroy()
    })
  }

  /** Gives it a certificate, before it starts or at any later time; open connections go on with theirs. */
  setSecureContext(options: SecureContextOptions): void {
    this.#tls.setSecureContext(options)
  }

  /** Throws when the port cannot be had. */
  start(): Promise<void> {
    return this.#tcp.start()
  }

  /** Takes no more connections; those that are open are the broker's to close. */
  stop(): Promise<void> {
    return this.#tcp.stop()
  }

  /** The port in use, also when 0 was asked for. */
  get port(): number {
    return this.#tcp.port
  }

  #shakeHands(socket: Socket, address: string): void {
    const peer = peerOf(socket)
    this.#handshakes.set(peer, address)
    // a client that hangs up has no address any more in `tlsClientError`, so it is missed here
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
