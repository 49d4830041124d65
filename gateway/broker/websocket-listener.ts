import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { createWebSocketStream, WebSocketServer } from 'ws'
import { InvalidRequestError } from '../../shared/errors.ts'

/** MQTT over WebSocket, on the HTTP server's upgrade requests; sub-protocol `mqtt`. */
export class WebSocketListener {
  readonly #server: WebSocketServer
  readonly #onConnection: (
    stream: Duplex,
    address: string,
    bufferedBytes: () => number,
    request: IncomingMessage,
  ) => void

  constructor(
    maxPacketBytes: number,
    onConnection: (
      stream: Duplex,
      address: string,
      bufferedBytes: () => number,
      request: IncomingMessage,
    ) => void,
  ) {
    this.#onConnection = onConnection
    this.#server = new WebSocketServer({
      noServer: true,
      perMessageDeflate: false,
      // one frame may carry several packets, or a part of one
      maxPayload: 2 * maxPacketBytes,
      handleProtocols: (protocols) => (protocols.has('mqtt') ? 'mqtt' : false),
    })
  }

  /** Throws `missing_subprotocol` when the client does not offer MQTT [MQTT-6.0.0-3]. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',')
    if (!offered.some((name) => name.trim() === 'mqtt'))
      throw new InvalidRequestError('missing_subprotocol', 'offer the WebSocket sub-protocol mqtt')
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      const stream = createWebSocketStream(webSocket)
      stream.on('error', () => stream.destroy())
      const address = request.socket.remoteAddress ?? 'unknown'
      this.#onConnection(stream, address, () => webSocket.bufferedAmount, request)
    })
  }
}
