import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

const HOST = '127.0.0.1'

/** Direction of a connection: data from `source` goes to `sink` while the link passes it. */
class Direction {
  readonly #source: Socket
  readonly #sink: Socket
  readonly #held: Buffer[] = []
  #isFrozen: boolean
  #isOver = false

  constructor(source: Socket, sink: Socket, isFrozen: boolean) {
    this.#source = source
    this.#sink = sink
    this.#isFrozen = isFrozen
    source.on('data', (bytes: Buffer) => this.#take(bytes))
    sink.on('drain', () => source.resume())
    // 'close' follows
    source.on('error', () => undefined)
    source.on('close', () => this.#end())
  }

  set isFrozen(isFrozen: boolean) {
    this.#isFrozen = isFrozen
    if (isFrozen) return
    for (const bytes of this.#held.splice(0)) this.#sink.write(bytes)
    if (this.#isOver) this.#sink.destroy()
  }

  #take(bytes: Buffer): void {
    if (this.#isFrozen) this.#held.push(bytes)
    else if (!this.#sink.write(bytes)) this.#source.pause()
  }

  /** Ends a connection; the end stays unnoticed while nothing passes. */
  #end(): void {
    this.#isOver = true
    if (!this.#isFrozen) this.#sink.end()
  }
}

interface Connection {
  client: Socket
  gateway: Socket
  directions: readonly Direction[]
}

/** Network between a browser and a gateway, over TCP: it can be cut, freeze silently, and be restored. */
export class WeakLink {
  readonly #gatewayPort: () => number
  readonly #connections = new Set<Connection>()
  #server: Server | null = null
  #port = 0
  #isCut = false
  #isFrozen = false

  /**
   * `gatewayPort` is called for each connection, because a restarted gateway listens on a different port. It throws
   * while none listens.
   */
  constructor(gatewayPort: () => number) {
    this.#gatewayPort = gatewayPort
  }

  /** Fixed address for the browser. */
  get url(): string {
    return `http://${HOST}:${this.#port}`
  }

  /** Number of open connections through it. */
  get connections(): number {
    return this.#connections.size
  }

  async start(): Promise<void> {
    if (this.#server !== null) return
    const server = createServer({ noDelay: true }, (client) => this.#accept(client))
    this.#server = server
    server.listen(this.#port, HOST)
    await once(server, 'listening')
    // a TCP address is an object
    this.#port = (server.address() as AddressInfo).port
  }

  async stop(): Promise<void> {
    const server = this.#server
    if (server === null) return
    this.#server = null
    this.#endAll()
    server.close()
    await once(server, 'close')
  }

  /** Ends all connections, and each new one immediately, until `restore`. */
  cut(): void {
    this.#isCut = true
    this.#endAll()
  }

  /** Passes nothing and closes nothing; new connections receive no data until `restore`. */
  freeze(): void {
    this.#freezeAll(true)
  }

  /** Passes everything again; data held back by `freeze` arrives now. */
  restore(): void {
    this.#isCut = false
    this.#freezeAll(false)
  }

  #freezeAll(isFrozen: boolean): void {
    this.#isFrozen = isFrozen
    for (const { directions } of this.#connections) for (const direction of directions) direction.isFrozen = isFrozen
  }

  #accept(client: Socket): void {
    const port = this.#isCut ? null : this.#portNow()
    if (port === null) {
      client.resetAndDestroy()
      return
    }
    const gateway = connect({ host: HOST, port, noDelay: true })
    const directions = [new Direction(client, gateway, this.#isFrozen), new Direction(gateway, client, this.#isFrozen)]
    const connection = { client, gateway, directions }
    this.#connections.add(connection)
    client.on('close', () => this.#connections.delete(connection))
  }

  #portNow(): number | null {
    try {
      return this.#gatewayPort()
    } catch {
      return null
    }
  }

  #endAll(): void {
    for (const { client, gateway } of this.#connections) {
      client.resetAndDestroy()
      gateway.destroy()
    }
  }
}
