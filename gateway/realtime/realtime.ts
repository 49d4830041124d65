import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { type Caller, canSee, isStaff } from '#domain/access.ts'
import { type Alert, toAlertJson } from '#domain/alert.ts'
import { messageSeenBy } from '#domain/message.ts'
import type { Events, GatewayEvents } from '#gateway/events.ts'
import type { AuditContext } from '#services/audit-context.ts'
import type { VisibleCarts } from '#services/carts/visible-carts.ts'
import type { Commands } from '#services/commands/commands.ts'
import type { Device, Fleet } from '#services/fleet.ts'
import type { Parties } from '#services/parties/parties.ts'
import type { KeyGuard } from '#services/people/key-guard.ts'
import { type Login, originOf, sessionOwner } from '#services/people/login.ts'
import type { Persons } from '#services/people/persons.ts'
import type { Users } from '#services/users.ts'
import type { Slots } from '#shared/budgets/slots.ts'
import { Counter } from '#shared/counter.ts'
import { AppError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import type { SiteSettings } from '#shared/site/settings.ts'
import { type Clock, toIso } from '#shared/time.ts'
import { programVersion } from '#shared/version.ts'
import type { DeviceJson } from '#shared/wire/devices.ts'
import type { ClientCommand, ClientMessage } from '#shared/wire/realtime.ts'
import { toRecallJson } from '#shared/wire/recall.ts'
import { toSiteForScreensJson, toSiteSettingsJson } from '#shared/wire/site-json.ts'
import { AlertFeed } from './alert-news.ts'
import { cartMessage, cartRemovedMessage, cartsOf } from './cart-messages.ts'
import { type ErrorMessage, echoId, parseMessage } from './client-message.ts'
import { type Channel, CLOSE, closeWebSocket, RealtimeConnection, WEB_SOCKET_SETTINGS } from './connection.ts'
import {
  backfillMessage,
  commandMessage,
  crossingMessage,
  deviceMessage,
  deviceRemovedMessage,
  lockMessage,
  presenceMessage,
  readingsMessage,
} from './device-messages.ts'
import { FanOut } from './fan-out.ts'
import { HalfOpen } from './half-open.ts'
import { RealtimeCommands } from './realtime-commands.ts'

const MAX_MESSAGE_BYTES = 65_536
const MAX_ECHOED_CHARS = 1_024
const PING_MS = 30_000
const EVERYTHING = '*'
/** Limit of open sockets for one session. */
const SESSION_SOCKETS = 4
const LOGGED_IN = 'this connection has logged in already'

interface RealtimeDeps {
  events: Events
  fleet: Fleet
  visibleCarts: VisibleCarts
  /** Returns a device as in `GET /devices`. */
  toDeviceJson: (device: Device) => DeviceJson
  clock: Clock
  /** Start time of the process, corrected by the current clock. */
  startedAtMs: () => number
  commands: Commands
  users: Pick<Users, 'find'>
  persons: Pick<Persons, 'acted'>
  keyGuard: Pick<KeyGuard, 'admit' | 'count'>
  origins: Pick<AuditContext, 'run'>
  parties: Pick<Parties, 'maySee' | 'toJson'>
  alerts: {
    maySee(caller: Caller, alert: Alert): boolean
    notClosedFor(caller: Caller): Alert[]
  }
  /** Slots, keyed by user or session. */
  realtimeSockets: Slots
  /** Slots for connections that have not logged in, keyed by address. */
  realtimeHalfOpen: Slots
  log: Log
}

/** WebSocket channel `/realtime`: live data of the devices a client subscribes to. */
export class Realtime implements Component {
  /** Connections closed by the gateway, by reason. */
  readonly closed = new Counter()
  readonly #deps: RealtimeDeps
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    ...WEB_SOCKET_SETTINGS,
  })
  readonly #fanOut: FanOut
  readonly #commands: RealtimeCommands
  readonly #halfOpen: HalfOpen
  readonly #alertNews: AlertFeed
  readonly #version = programVersion()
  #pingTimer: NodeJS.Timeout | undefined

  constructor(deps: RealtimeDeps) {
    this.#deps = deps
    this.#fanOut = new FanOut({ log: deps.log, onExcess: (connection) => this.#giveUp(connection) })
    this.#commands = new RealtimeCommands(deps)
    this.#alertNews = new AlertFeed({
      alerts: deps.alerts,
      connections: this.#fanOut.connections,
      settle: () => this.#fanOut.settle(),
    })
    this.#halfOpen = new HalfOpen({
      keyGuard: deps.keyGuard,
      slots: deps.realtimeHalfOpen,
      closed: this.closed,
    })
  }

  async start(): Promise<void> {
    const { events, fleet, toDeviceJson, visibleCarts, clock } = this.#deps
    const fanOut = this.#fanOut
    const show = (hardwareId: string) => {
      const device = fleet.byHardwareId(hardwareId)
      return device && toDeviceJson(device)
    }
    events.on('reported', (event) => fanOut.publish(event.hardwareId, readingsMessage(event)))
    events.on('backfilled', (event) => fanOut.publish(event.hardwareId, backfillMessage(event)))
    events.on('presenceChanged', (event) => fanOut.publish(event.hardwareId, presenceMessage(event)))
    events.on('lockChanged', (event) => fanOut.publish(event.hardwareId, lockMessage(event)))
    events.on('zoneCrossed', (event) => fanOut.publish(event.hardwareId, crossingMessage(event)))
    events.on('commandMoved', (event) => {
      const { command } = event
      const audience = this.#commands.audienceOf(command, fanOut.connections)
      fanOut.publishTo(audience, command.hardwareId, commandMessage(event))
    })
    for (const name of ['deviceRegistered', 'deviceChanged'] as const)
      events.on(name, ({ hardwareId }) => fanOut.publish(hardwareId, deviceMessage(hardwareId, show)))
    events.on('deviceRemoved', ({ hardwareId }) => {
      fanOut.publish(hardwareId, deviceRemovedMessage(hardwareId))
      fanOut.settle()
      fanOut.subscriptions.forget(hardwareId)
    })
    events.on('alertChanged', (event) => this.#alertNews.publish(event))
    events.on('cartChanged', (event) => fanOut.publishEach(cartMessage(event, visibleCarts, clock.nowMs())))
    events.on('cartRemoved', (event) => fanOut.publishEach(cartRemovedMessage(event)))
    events.on('siteChanged', ({ settings }) => this.#sendSite(settings))
    events.on('courseChanged', ({ version }) => {
      for (const connection of fanOut.connections) connection.send({ type: 'course_changed', version })
    })
    events.on('zonesChanged', ({ version }) => {
      for (const connection of fanOut.connections) connection.send({ type: 'zones_changed', version })
    })
    events.on('partyChanged', (event) => this.#sendParty(event))
    events.on('recallChanged', (event) => this.#sendRecall(event))
    events.on('messageChanged', (event) => this.#sendMessage(event))
    for (const name of ['keyRevoked', 'scopeChanged'] as const) events.on(name, ({ userId }) => this.#judge(userId))
    for (const name of ['sessionEnded', 'sessionChanged'] as const)
      events.on(name, ({ sessionId }) => this.#judge(sessionOwner(sessionId)))
    this.#pingTimer = setInterval(() => this.pingAll(), PING_MS)
  }

  async stop(): Promise<void> {
    clearInterval(this.#pingTimer)
    const reason = 'the gateway is stopping'
    this.#alertNews.flush()
    this.#fanOut.stop()
    for (const connection of this.#fanOut.connections) connection.close(CLOSE.shutdown, reason)
    this.#halfOpen.closeAll(CLOSE.shutdown, reason)
    this.#server.close()
  }

  /** Upgrades a request with a valid key or session to a connection. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer, login: Login, address: string): void {
    this.#upgrade(request, socket, head, (channel) => this.#open(channel, login, address))
  }

  /** Upgrades and closes a request whose session is over: a browser cannot read why an upgrade was refused. */
  acceptOver(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#upgrade(request, socket, head, ({ webSocket }) => {
      this.closed.add('session_over')
      closeWebSocket(webSocket, CLOSE.unauthenticated, 'session over')
    })
  }

  /** Upgrades a request without a key to a connection that must begin with one. Throws `rate_limited`. */
  acceptUnknown(request: IncomingMessage, socket: Duplex, head: Buffer, address: string): void {
    const release = this.#halfOpen.take(socket, address)
    this.#upgrade(request, socket, head, (channel) => {
      this.#halfOpen.wait(channel.webSocket, address, (login) => {
        release()
        this.#open(channel, login, address)
      })
    })
  }

  /** Pings every client; ends connections that missed two pings. */
  pingAll(): void {
    for (const connection of this.#fanOut.connections) connection.ping()
  }

  summary(): {
    totalConnections: number
    totalDevicesWatched: number
    subscriptionsByDevice: Record<string, number>
  } {
    // a device may have the id __proto__
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

  /** Number of frames about devices that were queued for connections. */
  get sentFrames(): number {
    return this.#fanOut.sentFrames
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, onOpen: (channel: Channel) => void): void {
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      webSocket.on('error', (error) => this.#deps.log.debug({ reason: error.message }, 'a realtime connection failed'))
      onOpen({ webSocket, stream: socket })
    })
  }

  #open(channel: Channel, login: Login, address: string): void {
    const { realtimeSockets: sockets } = this.#deps
    const { webSocket } = channel
    const { owner, session } = login
    if (session !== null) this.#makeRoom(owner)
    const mayUseReserve = login.row.role === 'admin'
    const most = session === null ? {} : { most: SESSION_SOCKETS }
    if (!sockets.take(owner, { mayUseReserve, ...most })) {
      this.closed.add('too_many_connections')
      closeWebSocket(webSocket, CLOSE.slow, 'too many connections')
      return
    }
    const connection: RealtimeConnection = new RealtimeConnection(channel, login, address, {
      settle: () => this.#fanOut.settle(),
      tooSlow: () => this.#closeFor(connection, CLOSE.slow, 'too slow'),
    })
    webSocket.on('close', () => this.#forget(connection))
    this.#fanOut.connections.add(connection)
    webSocket.on('message', (data, isBinary) => {
      // ignores messages that arrive after the close frame was sent
      if (webSocket.readyState !== webSocket.OPEN) return
      if (isBinary) connection.close(CLOSE.binary, 'text only')
      else if (connection.admitMessage(performance.now())) this.#receive(connection, data.toString())
      else this.#closeFor(connection, CLOSE.abuse, 'too many messages')
    })
    const { connectionId } = connection
    const { startedAtMs } = this.#deps
    const started_at = toIso(startedAtMs())
    connection.send({
      type: 'connected',
      connectionId,
      time: this.#time(),
      started_at,
      version: this.#version,
    })
  }

  /** Closes the oldest socket of a session: a tablet that lost its network returns before the gateway notices. */
  #makeRoom(owner: string): void {
    const own = [...this.#fanOut.connections].filter(({ login }) => login.owner === owner)
    for (const connection of own.slice(0, Math.max(0, own.length - SESSION_SOCKETS + 1))) {
      this.#closeFor(connection, CLOSE.slow, 'too many connections')
      this.#forget(connection)
    }
  }

  /** Releases the slot of a connection, once. */
  #forget(connection: RealtimeConnection): void {
    if (this.#fanOut.connections.delete(connection)) this.#deps.realtimeSockets.release(connection.login.owner)
    this.#fanOut.subscriptions.clear(connection)
  }

  #receive(connection: RealtimeConnection, text: string): void {
    const excess = this.#excessOf(connection)
    if (excess !== undefined) {
      // a refused message is only parsed if short, so that the error has its id
      const id = text.length <= MAX_ECHOED_CHARS ? echoId(parseMessage(text)) : {}
      connection.send({ ...excess, ...id })
      return
    }
    const parsed = parseMessage(text)
    if ('type' in parsed && parsed.type === 'error') connection.send(parsed)
    else this.#perform(connection, parsed)
  }

  /** Returns the error for a user whose messages and requests, over all its connections, exceed the rate of its key. */
  #excessOf({ login }: RealtimeConnection): ErrorMessage | undefined {
    try {
      this.#deps.keyGuard.count(login.owner)
      return undefined
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return { type: 'error', code: error.code, message: error.message }
    }
  }

  #perform(connection: RealtimeConnection, message: ClientMessage): void {
    // waiting events belong to the current subscriptions
    this.#fanOut.settle()
    this.#alertNews.flush()
    const echo = message.id === undefined ? {} : { id: message.id }
    switch (message.type) {
      case 'subscribe':
        this.#subscribe(connection, message)
        break
      case 'unsubscribe':
        for (const hardwareId of message.hardwareIds) {
          if (hardwareId === EVERYTHING) this.#fanOut.subscriptions.clear(connection)
          else this.#fanOut.subscriptions.remove(connection, hardwareId)
        }
        connection.send({ type: 'unsubscribed', hardwareIds: message.hardwareIds, ...echo })
        break
      case 'command':
        this.#command(connection, message)
        break
      case 'ping':
        connection.send({ type: 'pong', time: this.#time(), ...echo })
        break
      case 'authenticate':
        connection.send({ type: 'error', code: 'invalid_message', message: LOGGED_IN, ...echo })
    }
  }

  #command(connection: RealtimeConnection, message: ClientCommand): void {
    const { origins, persons, users } = this.#deps
    const { login, caller, address } = connection
    if (login.session !== null) persons.acted(login.session)
    const nameOf = (userId: string) => users.find(userId)?.row.name ?? ''
    const origin = originOf({ row: login.row, session: login.session, caller }, address, nameOf)
    void origins.run(origin, () => this.#commands.perform(connection, message))
  }

  #time(): string {
    return toIso(this.#deps.clock.nowMs())
  }

  #subscribe(
    connection: RealtimeConnection,
    { hardwareIds: wanted, snapshot, id }: ClientMessage & { type: 'subscribe' },
  ): void {
    const echo = id === undefined ? {} : { id }
    const { hardwareIds, denied } = this.#watch(connection, wanted)
    connection.send({ type: 'subscribed', hardwareIds, denied, ...echo })
    if (snapshot !== true) return
    const { fleet, visibleCarts, toDeviceJson, alerts } = this.#deps
    const { caller } = connection
    const ids = hardwareIds.includes(EVERYTHING) ? 'all' : new Set(hardwareIds)
    const devices = fleet
      .all()
      .filter(({ row }) => (ids === 'all' || ids.has(row.hardwareId)) && canSee(caller, row.hardwareId))
    connection.send({
      type: 'snapshot',
      devices: devices.map(toDeviceJson),
      carts: cartsOf(visibleCarts, ids, caller),
      alerts: alerts.notClosedFor(caller).map(toAlertJson),
      time: this.#time(),
      ...echo,
    })
  }

  #watch(connection: RealtimeConnection, wanted: string[]): { hardwareIds: string[]; denied: string[] } {
    const hardwareIds: string[] = []
    const denied: string[] = []
    for (const hardwareId of new Set(wanted)) {
      if (hardwareId === EVERYTHING) this.#fanOut.subscriptions.addAll(connection)
      else if (this.#deps.fleet.byHardwareId(hardwareId) !== undefined && canSee(connection.caller, hardwareId)) {
        this.#fanOut.subscriptions.add(connection, hardwareId)
      } else {
        denied.push(hardwareId)
        continue
      }
      hardwareIds.push(hardwareId)
    }
    return { hardwareIds, denied }
  }

  #sendSite(settings: SiteSettings): void {
    const [all, some] = [toSiteSettingsJson(settings), toSiteForScreensJson(settings)]
    for (const connection of this.#fanOut.connections)
      connection.send({ type: 'site_changed', site: isStaff(connection.caller) ? all : some })
  }

  #sendParty({ event, party }: GatewayEvents['partyChanged']): void {
    const { parties, clock } = this.#deps
    const timestamp = toIso(clock.nowMs())
    for (const connection of this.#fanOut.connections) {
      const { caller } = connection
      if (!isStaff(caller) || !parties.maySee(caller, party)) continue
      connection.send({ type: 'party', event, party: parties.toJson(caller, party), timestamp })
    }
  }

  #sendRecall({ event, recall, hardwareId, atMs }: GatewayEvents['recallChanged']): void {
    const message = { type: 'recall' as const, event, recall: toRecallJson(recall), timestamp: toIso(atMs) }
    const audience = [...this.#fanOut.connections].filter(({ caller }) => isStaff(caller))
    if (hardwareId === null || event !== 'confirmed') {
      for (const connection of audience) connection.send(message)
      return
    }
    for (const connection of audience) if (!canSee(connection.caller, hardwareId)) connection.send(message)
    const messages = [{ message: { ...message, event, hardwareId } }]
    this.#fanOut.publishTo(audience, hardwareId, messages.values())
  }

  #sendMessage({ event, message, atMs }: GatewayEvents['messageChanged']): void {
    for (const connection of this.#fanOut.connections) {
      const seen = isStaff(connection.caller) ? messageSeenBy(message, connection.caller) : null
      if (seen !== null) connection.send({ type: 'message', event, message: seen, timestamp: toIso(atMs) })
    }
  }

  /** Closes connections of a user or session whose access was revoked, and updates the permissions of the others. */
  #judge(owner: string): void {
    for (const connection of this.#fanOut.connections) {
      const { login } = connection
      if (login.owner !== owner) continue
      const caller = login.callerNow()
      if (caller === undefined) {
        const reason = login.session === null ? 'key revoked' : 'session over'
        this.#closeFor(connection, CLOSE.unauthenticated, reason)
        this.#forget(connection)
        continue
      }
      if (caller === connection.caller) continue
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

  /** Frees the memory immediately, without a close reason: the client would not read it. */
  #giveUp(connection: RealtimeConnection): void {
    this.closed.add('queues_full')
    this.#fanOut.subscriptions.clear(connection)
    connection.terminate()
  }
}
