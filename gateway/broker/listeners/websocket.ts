import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { createWebSocketStream, WebSocketServer } from 'ws'
import { InvalidRequestError, RateLimitedError } from '#shared/errors.ts'
import type { AdmissionRefusal, Connections } from './admission.ts'

interface WebSocketListenerEvents {
  onConnection: (
    stream: Duplex,
    address: string,
    network: { bufferedBytes: () => number; request: IncomingMessage },
  ) => void
  onDropped: (reason: AdmissionRefusal, address: string) => void
}

/** Close code of RFC 6455, 7.4.1. */
const UNSUPPORTED_DATA = 1003

/** Serves MQTT over WebSocket, on the HTTP server's upgrade requests; sub-protocol `mqtt`. */
export class WebSocketListener {
  readonly #server: WebSocketServer
  readonly #connections: Connections
  readonly #events: WebSocketListenerEvents

  constructor(maxPacketBytes: number, connections: Connections, events: WebSocketListenerEvents) {
    this.#connections = connections
    this.#events = events
    this.#server = new WebSocketServer({
      noServer: true,
      perMessageDeflate: false,
      // one frame may hold several packets, or a part of one
      maxPayload: 2 * maxPacketBytes,
      handleProtocols: (protocols) => (protocols.has('mqtt') ? 'mqtt' : false),
    })
  }

  /** Throws `missing_subprotocol` if the client does not offer MQTT [MQTT-6.0.0-3], `rate_limited` beyond a limit. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, address: string): void {
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',')
    if (!offered.some((name) => name.trim() === 'mqtt'))
      throw new InvalidRequestError('missing_subprotocol', 'offer the WebSocket sub-protocol mqtt')
    const refusal = this.#connections.admit(request.socket, address)
    if (refusal !== undefined) {
      this.#events.onDropped(refusal, address)
      throw new RateLimitedError(refusal.replaceAll('_', ' '), 1)
    }
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      const stream = createWebSocketStream(webSocket)
      stream.on('error', () => stream.destroy())
      // before the stream itself receives the frame [MQTT-6.0.0-1]
      webSocket.prependListener('message', (_data, isBinary) => {
        if (isBinary) return
        webSocket.close(UNSUPPORTED_DATA)
        stream.destroy()
      })
      this.#events.onConnection(stream, address, { bufferedBytes: () => webSocket.bufferedAmount, request })
    })
  }
}
