import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { type Caller, canSee, isAdmin } from '#domain/access.ts'
import type { Events } from '#gateway/events.ts'
import type { Commands } from '#services/commands/commands.ts'
import type { Fleet } from '#services/fleet.ts'
import type { KeyGuard } from '#services/key-guard.ts'
import type { Origins } from '#services/origins.ts'
import type { Users } from '#services/users.ts'
import type { Slots } from '#shared/budgets/slots.ts'
import { AppError } from '#shared/errors.ts'
import type { Part } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { Tally } from '#shared/tally.ts'
import type { ClientMessage } from '#shared/wire/realtime.ts'
import { type ErrorMessage, echoId, parseMessage } from './client-message.ts'
import { type Channel, CLOSE, closeWebSocket, RealtimeConnection, WEB_SOCKET_SETTINGS } from './connection.ts'
import {
  tellBackfilled,
  tellCommand,
  tellCrossing,
  tellLock,
  tellPresence,
  tellReported,
} from './device-messages.ts'
import { FanOut } from './fan-out.ts'
import { HalfOpen } from './half-open.ts'
import { RealtimeCommands } from './realtime-commands.ts'

const MAX_MESSAGE_BYTES = 65_536
const MAX_ECHOED_CHARS = 1_024
const PING_MS = 30_000
const EVERYTHING = '*'
const LOGGED_IN = 'this connection has logged in already'

interface RealtimeDeps {
  events: Events
  fleet: Fleet
  commands: Commands
  users: Pick<Users, 'callerOf'>
  keyGuard: Pick<KeyGuard, 'admit' | 'count'>
  origins: Pick<Origins, 'run'>
  /** By user. */
  sockets: Slots
  /** Those that have not logged in, by address. */
  halfOpen: Slots
  log: Log
}

/** The WebSocket channel `/realtime`: live data of the devices a client subscribes to. */
export class Realtime implements Part {
  /** Connections closed by the gateway, by reason. */
  readonly closed = new Tally()
  readonly #deps: RealtimeDeps
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    ...WEB_SOCKET_SETTINGS,
  })
  readonly #fanOut: FanOut
  readonly #commands: RealtimeCommands
  readonly #halfOpen: HalfOpen
  #pingTimer: NodeJS.Timeout | undefined

  constructor(deps: RealtimeDeps) {
    this.#deps = deps
    this.#fanOut = new FanOut({ log: deps.log, onExcess: (connection) => this.#giveUp(connection) })
    this.#commands = new RealtimeCommands(deps)
    this.#halfOpen = new HalfOpen({ keyGuard: deps.keyGuard, slots: deps.halfOpen, closed: this.closed })
  }

  async start(): Promise<void> {
    const { events } = this.#deps
    const fanOut = this.#fanOut
    events.on('reported', (event) => fanOut.tell(event.hardwareId, tellReported(event)))
    events.on('backfilled', (event) => fanOut.tell(event.hardwareId, tellBackfilled(event)))
    events.on('presenceChanged', (event) => fanOut.tell(event.hardwareId, tellPresence(event)))
    events.on('lockChanged', (event) => fanOut.tell(event.hardwareId, tellLock(event)))
    events.on('zoneCrossed', (event) => fanOut.tell(event.hardwareId, tellCrossing(event)))
    events.on('commandMoved', (event) => {
      const { command } = event
      const audience = this.#commands.audienceOf(command, fanOut.connections)
      fanOut.tellOnly(audience, command.hardwareId, tellCommand(event))
    })
    events.on('deviceRemoved', ({ hardwareId }) => {
      fanOut.settle()
      fanOut.subscriptions.forget(hardwareId)
    })
    events.on('keyRevoked', ({ userId }) => this.#closeAll(userId))
    events.on('scopeChanged', ({ userId }) => this.#narrowAll(userId))
    this.#pingTimer = setInterval(() => this.pingAll(), PING_MS)
  }

  async stop(): Promise<void> {
    clearInterval(this.#pingTimer)
    const reason = 'the gateway is stopping'
    this.#fanOut.stop()
    for (const connection of this.#fanOut.connections) connection.close(CLOSE.shutdown, reason)
    this.#halfOpen.closeAll(CLOSE.shutdown, reason)
    this.#server.close()
  }

  /** Turns an upgrade request whose key is good into a connection. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer, caller: Caller, address: string): void {
    this.#upgrade(request, socket, head, (channel) => this.#open(channel, caller, address))
  }

  /** Turns an upgrade request without a key into a connection that has to begin with one. Throws `rate_limited`. */
  acceptUnknown(request: IncomingMessage, socket: Duplex, head: Buffer, address: string): void {
    const release = this.#halfOpen.take(socket, address)
    this.#upgrade(request, socket, head, (channel) => {
      this.#halfOpen.wait(channel.webSocket, address, (caller) => {
        release()
        this.#open(channel, caller, address)
      })
    })
  }

  /** Asks every client for a sign of life; one that missed two is cut off. */
  pingAll(): void {
    for (const connection of this.#fanOut.connections) connection.ping()
  }

  summary(): {
    totalConnections: number
    totalDevicesWatched: number
    subscriptionsByDevice: Record<string, number>
  } {
    // a device may be called __proto__
    const subscriptionsByDevice: Record<string, number> = Object.create(null)
    for (const { row } of this.#deps.fleet.all()) {
      let count = 0
      this.#fanOut.subscriptions.forEachWatcher(row.hardwareId, () => count++)
      if (count > 0) subscriptionsByDevice[row.hardwareId] = count
    }
    const totalDevicesWatched = Object.keys(subscriptionsByDevice).length
    return { totalConnections: this.#fanOut.connections.size, totalDevicesWatched, subscriptionsByDevice }
  }

  get connectionCount(): number {
    return this.#fanOut.connections.size
  }

  /** About devices. */
  get sentFrames(): number {
    return this.#fanOut.sentFrames
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, onOpen: (channel: Channel) => void): void {
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      webSocket.on('error', (error) =>
        this.#deps.log.debug({ reason: error.message }, 'a realtime connection failed'),
      )
      onOpen({ webSocket, stream: socket })
    })
  }

  #open(channel: Channel, caller: Caller, address: string): void {
    const { sockets } = this.#deps
    const { webSocket } = channel
    if (!sockets.take(caller.userId, { mayUseReserve: isAdmin(caller) })) {
      this.closed.add('too_many_connections')
      closeWebSocket(webSocket, CLOSE.slow, 'too many connections')
      return
    }
    const connection: RealtimeConnection = new RealtimeConnection(channel, caller, address, {
      settle: () => this.#fanOut.settle(),
      tooSlow: () => this.#closeFor(connection, CLOSE.slow, 'too slow'),
    })
    webSocket.on('close', () => {
      sockets.release(caller.userId)
      this.#fanOut.connections.delete(connection)
      this.#fanOut.subscriptions.clear(connection)
    })
    this.#fanOut.connections.add(connection)
    webSocket.on('message', (data, isBinary) => {
      // what arrives after the close frame was sent is not for us any more
      if (webSocket.readyState !== webSocket.OPEN) return
      if (isBinary) connection.close(CLOSE.binary, 'text only')
      else if (connection.admitMessage(performance.now())) this.#receive(connection, data.toString())
      else this.#closeFor(connection, CLOSE.abuse, 'too many messages')
    })
    connection.send({ type: 'connected', connectionId: connection.connectionId })
  }

  #receive(connection: RealtimeConnection, text: string): void {
    const excess = this.#excessOf(connection)
    if (excess !== undefined) {
      // what is refused is not read either, unless that is next to nothing: its sender wants to know what was refused
      const id = text.length <= MAX_ECHOED_CHARS ? echoId(parseMessage(text)) : {}
      connection.send({ ...excess, ...id })
      return
    }
    const parsed = parseMessage(text)
    if ('type' in parsed && parsed.type === 'error') connection.send(parsed)
    else this.#perform(connection, parsed)
  }

  /** What a user is told whose messages, over all its connections, and requests are more than its key may send. */
  #excessOf({ userId }: RealtimeConnection): ErrorMessage | undefined {
    try {
      this.#deps.keyGuard.count(userId)
      return undefined
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return { type: 'error', code: error.code, message: error.message }
    }
  }

  #perform(connection: RealtimeConnection, message: ClientMessage): void {
    // what it watches now was told before what it watches then
    this.#fanOut.settle()
    const echo = message.id === undefined ? {} : { id: message.id }
    switch (message.type) {
      case 'subscribe':
        connection.send({ type: 'subscribed', ...this.#subscribe(connection, message.hardwareIds), ...echo })
        break
      case 'unsubscribe':
        for (const hardwareId of message.hardwareIds) {
          if (hardwareId === EVERYTHING) this.#fanOut.subscriptions.clear(connection)
          else this.#fanOut.subscriptions.remove(connection, hardwareId)
        }
        connection.send({ type: 'unsubscribed', hardwareIds: message.hardwareIds, ...echo })
        break
      case 'command':
        void this.#deps.origins.run(connection, () => this.#commands.perform(connection, message))
        break
      case 'ping':
        connection.send({ type: 'pong', ...echo })
        break
      case 'authenticate':
        connection.send({ type: 'error', code: 'invalid_message', message: LOGGED_IN, ...echo })
    }
  }

  #subscribe(connection: RealtimeConnection, wanted: string[]): { hardwareIds: string[]; denied: string[] } {
    const hardwareIds: string[] = []
    const denied: string[] = []
    for (const hardwareId of new Set(wanted)) {
      if (hardwareId === EVERYTHING) this.#fanOut.subscriptions.addAll(connection)
      else if (
        this.#deps.fleet.byHardwareId(hardwareId) !== undefined &&
        canSee(connection.caller, hardwareId)
      ) {
        this.#fanOut.subscriptions.add(connection, hardwareId)
      } else {
        denied.push(hardwareId)
        continue
      }
      hardwareIds.push(hardwareId)
    }
    return { hardwareIds, denied }
  }

  #closeAll(userId: string): void {
    for (const connection of this.#fanOut.connections) {
      if (connection.userId === userId) this.#closeFor(connection, CLOSE.unauthenticated, 'key revoked')
    }
  }

  #narrowAll(userId: string): void {
    const caller = this.#deps.users.callerOf(userId)
    if (caller === undefined) return
    for (const connection of this.#fanOut.connections) {
      if (connection.userId !== userId) continue
      connection.narrow(caller)
      const lost = this.#fanOut.subscriptions.narrow(connection)
      if (lost.length > 0) connection.send({ type: 'unsubscribed', hardwareIds: lost, reason: 'scope' })
    }
  }

  #closeFor(connection: RealtimeConnection, code: number, reason: string): void {
    this.closed.add(reason.replaceAll(' ', '_'))
    this.#fanOut.subscriptions.clear(connection)
    connection.close(code, reason)
  }

  /** Takes back the memory at once: a client that does not read does not hear why either. */
  #giveUp(connection: RealtimeConnection): void {
    this.closed.add('queues_full')
    this.#fanOut.subscriptions.clear(connection)
    connection.terminate()
  }
}
