import { connect, type Socket } from 'node:net'
import { generate, type IConnackPacket, type IPublishPacket, type Packet, parser } from 'mqtt-packet'
import { type Outgoing, OutgoingMessages } from './outgoing.ts'

/** Login and subscriptions of a client of a broker. */
export interface SessionSettings {
  port: number
  clientId: string
  username: string
  password: string
  isPersistent: boolean
  /** Filters and their requested QoS. */
  subscriptions?: Readonly<Record<string, 0 | 1 | 2>>
  /** Read at each connection. */
  will?: { topic: string; payload: string; qos: 1 | 2; retain: boolean } | undefined
  /** Upper limit of the delay between two attempts to connect, in ms; that of the first by default. */
  longestRetryMs?: number
}

export interface Delivery {
  topic: string
  payload: string
  qos: 0 | 1 | 2
}

/** First delay before another connection, less up to three quarters; doubled with each attempt that fails. */
const RECONNECT_MS = 200
const SUBSCRIBE_PACKET_ID = 65_535
const KEEP_ALIVE_S = 120
/** Silence after which a client pings; without an answer until the next one it closes the connection. */
const PING_MS = 60_000

/**
 * MQTT 3.1.1 client that is exact about acknowledgements and keeps its side of a session while it is offline: it
 * repeats messages that are not fully acknowledged, and recognises a repeated message of QoS 2.
 */
export class SessionClient {
  /** Called when the broker has fully accepted a message: PUBACK or PUBCOMP. */
  onAcknowledged: ((message: Outgoing) => void) | null = null
  onDelivery: ((delivery: Delivery) => void) | null = null
  /** Called when the session is established and everything open has been repeated. */
  onReady: (() => void) | null = null
  /** Called when an established session has lost its connection. */
  onLost: (() => void) | null = null
  /** Called on a refusal; the client stays offline. Without a listener it retries: a stopping broker refuses all. */
  onRefused: ((error: Error) => void) | null = null

  /** Connections after which the broker did not know a session it had confirmed before. */
  lostSessions = 0
  readonly #settings: SessionSettings
  readonly #outgoing = new OutgoingMessages()
  /** Packet ids of QoS 2 messages delivered and not released yet [MQTT-4.3.3-2]. */
  readonly #unreleased = new Set<number>()
  #socket: Socket | null = null
  #isWanted = false
  #isReady = false
  #isKnown = false
  #isSubscribed = false
  /** True while a ping waits for an answer, or for any other packet. */
  #isPinged = false
  #failures = 0

  constructor(settings: SessionSettings) {
    this.#settings = settings
  }

  get isReady(): boolean {
    return this.#isReady
  }

  get unacknowledged(): number {
    return this.#outgoing.size
  }

  /** Connects, and reconnects after every outage. */
  goOnline(): void {
    this.#isWanted = true
    if (this.#socket === null) this.#connect()
  }

  /** Closes the connection, with or without a DISCONNECT, and stays offline; ignores packets that still arrive. */
  goOffline(how: 'politely' | 'abruptly'): void {
    this.#isWanted = false
    this.#isReady = false
    const socket = this.#socket
    this.#socket = null
    if (how === 'politely') socket?.end(generate({ cmd: 'disconnect' }))
    else socket?.destroy()
  }

  /** Sends a message now, or as soon as there is a connection. */
  publish(message: Outgoing): void {
    const id = this.#outgoing.add(message)
    if (this.#isReady) this.#sendPublish(id, message, false)
  }

  #connect(): void {
    const { port, will, ...settings } = this.#settings
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const packets = parser({ protocolVersion: 4 })
    this.#socket = socket
    let ping: NodeJS.Timeout | undefined
    socket.on('connect', () => {
      this.#isPinged = false
      ping = setInterval(() => this.#sendPing(socket), PING_MS).unref()
      const { clientId, username, isPersistent } = settings
      const password = Buffer.from(settings.password)
      const fields = { clientId, username, password, clean: !isPersistent, keepalive: KEEP_ALIVE_S }
      socket.write(generate({ cmd: 'connect', ...fields, ...(will === undefined ? {} : { will }) }))
    })
    socket.on('data', (chunk) => packets.parse(chunk))
    packets.on('packet', (packet) => {
      if (socket === this.#socket) this.#receive(packet)
    })
    // 'close' follows
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearInterval(ping)
      this.#onClose(socket)
    })
  }

  #sendPing(socket: Socket): void {
    if (this.#isPinged) {
      socket.destroy()
      return
    }
    this.#isPinged = true
    this.#send({ cmd: 'pingreq' })
  }

  #onClose(socket: Socket): void {
    if (socket !== this.#socket) return
    this.#socket = null
    if (this.#isReady) this.onLost?.()
    this.#isReady = false
    const { longestRetryMs = RECONNECT_MS } = this.#settings
    const retryMs = Math.min(longestRetryMs, RECONNECT_MS * 2 ** this.#failures++)
    const delayMs = retryMs * (1 / 4 + (Math.random() * 3) / 4)
    setTimeout(() => {
      if (this.#isWanted && this.#socket === null) this.#connect()
    }, delayMs)
  }

  #receive(packet: Packet): void {
    const id = packet.messageId ?? 0
    this.#isPinged = false
    switch (packet.cmd) {
      case 'connack':
        this.#onConnack(packet)
        break
      case 'suback':
        this.#isSubscribed = true
        this.#becomeReady()
        break
      case 'publish':
        this.#onPublish(packet)
        break
      case 'puback':
        this.#report(this.#outgoing.acknowledge(id))
        break
      case 'pubrec':
        this.#outgoing.take(id)
        this.#send({ cmd: 'pubrel', messageId: id })
        break
      case 'pubcomp':
        this.#report(this.#outgoing.complete(id))
        break
      case 'pubrel':
        this.#unreleased.delete(id)
        this.#send({ cmd: 'pubcomp', messageId: id })
    }
  }

  #onConnack({ returnCode, sessionPresent }: IConnackPacket): void {
    if (returnCode !== 0) {
      this.#isWanted = this.onRefused === null
      this.onRefused?.(new Error(`${this.#settings.clientId}: CONNACK ${returnCode}`))
      return
    }
    if (!sessionPresent) {
      if (this.#isKnown && this.#settings.isPersistent) this.lostSessions++
      this.#unreleased.clear()
      this.#isSubscribed = false
    }
    this.#isKnown = true
    const subscriptions = Object.entries(this.#settings.subscriptions ?? {})
    // a present session has its subscriptions, which is what the test must show
    if (this.#isSubscribed || subscriptions.length === 0) {
      this.#becomeReady()
    } else {
      const wanted = subscriptions.map(([topic, qos]) => ({ topic, qos }))
      this.#send({ cmd: 'subscribe', messageId: SUBSCRIBE_PACKET_ID, subscriptions: wanted })
    }
  }

  #becomeReady(): void {
    this.#isReady = true
    this.#failures = 0
    for (const { id, message, isCopy, isTaken } of this.#outgoing.toSend()) {
      if (isTaken) this.#send({ cmd: 'pubrel', messageId: id })
      else this.#sendPublish(id, message, isCopy)
    }
    this.onReady?.()
  }

  #onPublish({ topic, payload, qos, messageId = 0 }: IPublishPacket): void {
    const isCopy = qos === 2 && this.#unreleased.has(messageId)
    if (qos === 2) this.#unreleased.add(messageId)
    if (!isCopy) this.onDelivery?.({ topic, payload: payload.toString(), qos })
    if (qos === 1) this.#send({ cmd: 'puback', messageId })
    if (qos === 2) this.#send({ cmd: 'pubrec', messageId })
  }

  #sendPublish(messageId: number, message: Outgoing, dup: boolean): void {
    this.#send({ cmd: 'publish', messageId, dup, ...message })
    this.#outgoing.markSent(messageId)
  }

  #send(packet: Packet): void {
    this.#socket?.write(generate(packet))
  }

  #report(message: Outgoing | undefined): void {
    if (message !== undefined) this.onAcknowledged?.(message)
  }
}
