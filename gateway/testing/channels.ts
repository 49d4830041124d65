import { once } from 'node:events'
import { createServer, type RequestOptions, request } from 'node:http'
import type { Duplex } from 'node:stream'
import type { TestContext } from 'node:test'
import { type ClientOptions, type ServerOptions, WebSocket, WebSocketServer } from 'ws'

/** Frames that a client of a channel received, in order: texts, pings, pongs, and the code of its close. */
export type Received = { text: string } | { ping: string } | { pong: string } | { closed: number }

/** Server that hands out its WebSockets with the underlying stream, as an upgrade of the gateway gets both. */
export class Channels {
  readonly #url: string
  readonly #opened: { webSocket: WebSocket; stream: Duplex }[] = []

  private constructor(url: string) {
    this.#url = url
  }

  static async open(t: TestContext, settings: ServerOptions): Promise<Channels> {
    const webSockets = new WebSocketServer({ ...settings, noServer: true })
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => {
      for (const { webSocket } of channels.#opened) webSocket.terminate()
      server.close()
    })
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('the server has no port')
    const channels = new Channels(`127.0.0.1:${address.port}`)
    server.on('upgrade', (incoming, stream, head) => {
      webSockets.handleUpgrade(incoming, stream, head, (webSocket) => {
        channels.#opened.push({ webSocket, stream })
      })
    })
    return channels
  }

  /** Returns both ends of a new channel. */
  async connect(options: ClientOptions = {}): Promise<{
    webSocket: WebSocket
    stream: Duplex
    client: WebSocket
    received: Received[]
  }> {
    const client = new WebSocket(`ws://${this.#url}`, options)
    const received: Received[] = []
    client.on('message', (data) => received.push({ text: data.toString() }))
    client.on('ping', (data) => received.push({ ping: data.toString() }))
    client.on('pong', (data) => received.push({ pong: data.toString() }))
    client.on('close', (code) => received.push({ closed: code }))
    client.on('error', () => undefined)
    await once(client, 'open')
    return { ...this.#last(), client, received }
  }

  /** Returns the server's end, the response to the upgrade, and all bytes that follow it. */
  async connectRaw(headers: RequestOptions['headers'] = {}) {
    const handshake = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    }
    const asked = request(`http://${this.#url}`, { headers: { ...handshake, ...headers } })
    asked.end()
    const [response, socket, first] = await once(asked, 'upgrade')
    const chunks: Buffer[] = [first]
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    return { ...this.#last(), headers: response.headers, bytes: () => Buffer.concat(chunks) }
  }

  #last() {
    const last = this.#opened.at(-1)
    if (last === undefined) throw new Error('nothing was opened')
    return last
  }
}
