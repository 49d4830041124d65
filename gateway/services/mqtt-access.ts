import { type Caller, canSee, canSeeCodes, isAdmin, isStaff } from '#domain/access.ts'
import type { BrokerPort } from '#domain/broker-port.ts'
import type { SessionChange } from '#domain/mqtt-sessions.ts'
import { hasWildcard } from '#domain/mqtt-topics.ts'
import type { Events } from '#gateway/events.ts'
import type { Rates } from '#shared/budgets/rates.ts'
import { AppError, describeError } from '#shared/errors.ts'
import { hashesEqual, hashSecret, isHardwareId } from '#shared/ids.ts'
import type { Log } from '#shared/log.ts'
import { isSiteKind } from '#shared/wire/alert-kinds.ts'
import {
  ackMessageSchema,
  DOWNLINKS,
  deviceTopic,
  timeQuestionSchema,
  UPLINKS,
  type Uplink,
  zonesTopic,
} from '#shared/wire/mqtt.ts'
import type { ClockConfirmation } from './clock/confirmation.ts'
import type { GatewayClock } from './clock/gateway-clock.ts'
import type { Devices } from './devices/devices.ts'
import type { Enrolment, EnrolmentRefusal } from './devices/enrolment.ts'
import { type FirstStatus, parseOrUndefined, readFirstStatus } from './devices/first-status.ts'
import { KeyHandshake } from './devices/key-handshake.ts'
import type { Device, Fleet } from './fleet.ts'
import type { Ingest } from './ingest/ingest.ts'
import type { Uplinked } from './ingest/message.ts'
import type { MessageBatch } from './ingest/message-batch.ts'
import type { KeyGuard } from './people/key-guard.ts'
import type { DeviceConnection, Presence } from './presence.ts'
import type { Users } from './users.ts'

/** A device that logged in. `device` is null for one that is still to enrol. */
interface DeviceLogin extends DeviceConnection {
  readonly kind: 'device'
  readonly hardwareId: string
  /** What all its topics begin with. */
  readonly topicPrefix: string
  device: Device | null
  /** Null for one that came with its own password. */
  handshake: KeyHandshake | null
  /** Under way while the first `st` message registers the device. */
  enrolling: Promise<void> | null
  /** The connection has ended, perhaps before its device was registered. */
  isOver: boolean
}

/** A program that logged in with an API key. */
interface UserLogin {
  readonly kind: 'user'
  readonly userId: string
}

export type MqttLogin = DeviceLogin | UserLogin

type LoginResult =
  | { ok: true; login: MqttLogin; owner: string; isClientIdUnique: boolean }
  | { ok: false; reason: 'bad_credentials' | 'client_id_mismatch' | 'unknown_device' }
  | { ok: false; reason: EnrolmentRefusal; isAuthentic: true }

/** What a device came with: a password of its own, or the shared key. */
type Credential = 'own' | 'shared'

interface MqttAccessDeps {
  fleet: Fleet
  devices: Devices
  users: Users
  keyGuard: KeyGuard
  ingest: Ingest
  presence: Presence
  events: Events
  clock: GatewayClock
  clockConfirmation: Pick<ClockConfirmation, 'asked'>
  log: Log
  enrolment: Enrolment
  /** Lock events of each device: they stay for the retention. */
  lockEvents: Pick<Rates, 'spend' | 'debtMs'>
  /** Who may read the messages of alerts. */
  alerts: { mayRead(caller: Caller, kind: string, cart: string): boolean }
  broker: {
    /** Publishes to MQTT clients, QoS 0. */
    publish(topic: string, payload: string): void
    /** Sends to the connection of one login, QoS 1; false when it is gone or has not subscribed. */
    send(clientId: string, topic: string, payload: string, login: MqttLogin): boolean
    forgetSession(clientId: string): void
  }
}

/** Below it the gateway tells of alerts. */
const ALERTS_ROOT = 'alert'

/** A wrong topic may be of any length. */
const TOPIC_SHOWN = 256

/** Zones of a group: staff read those of all, as over HTTP. */
const ZONES_LEVEL = 'sz'

/** Devices report the codes they were opened with there, as they are. */
const CODES_LEVEL: Uplink = 'evt'

const UPLINK_BY_LEVEL = new Map<string, Uplink>(UPLINKS.map((level) => [level, level]))

/** Of the topics of a device, those that users read who are no admins: what they may read over HTTP, too. */
const USERS_LEVELS: ReadonlySet<string> = new Set([...UPLINKS, 'cmd', 'ta'])

/** What the broker asks of the gateway: who may log in, read and publish, and what to do with a message. */
export class MqttAccess implements BrokerPort<MqttLogin> {
  readonly #deps: MqttAccessDeps

  constructor(deps: MqttAccessDeps) {
    this.#deps = deps
  }

  login(clientId: string, username: string | undefined, password: Buffer | undefined, address: string): LoginResult {
    if (username === undefined || password === undefined) return { ok: false, reason: 'bad_credentials' }
    const device = this.#deps.fleet.byHardwareId(username)
    if (device === undefined && this.#deps.users.has(username)) return this.#loginUser(username, password, address)
    const credential = this.#credentialOf(device, username, password)
    if (typeof credential === 'object') return credential
    if (clientId !== username) return { ok: false, reason: 'client_id_mismatch' }
    if (credential === 'own' && device?.row.isOnSharedKey) this.#showedPassword(device)
    return {
      ok: true,
      login: this.#deviceLogin(username, address, credential),
      owner: deviceOwner(username),
      isClientIdUnique: true,
    }
  }

  /** The login of a client that is not connected, to publish its last will. */
  resume(owner: string): MqttLogin | undefined {
    const { kind, id } = parseOwner(owner)
    if (kind === 'user') return this.#deps.users.callerOf(id) && { kind: 'user', userId: id }
    const login = this.#deviceLogin(id, 'none', 'own')
    return login.device === null ? undefined : login
  }

  /** Admins look after everybody else. */
  mayUseReserve(owner: string): boolean {
    const { kind, id } = parseOwner(owner)
    const caller = kind === 'user' ? this.#deps.users.callerOf(id) : undefined
    return caller !== undefined && isAdmin(caller)
  }

  /**
   * A device reads its own `cmd`, `cfg`, `ta` and `key` and the `sz` of its group, and nothing else: no wildcard, no
   * topic of another device. A user may subscribe to every filter that could match a topic it may read; `canRead` then
   * judges each message. A user with masked codes does not read `evt`.
   */
  canSubscribe(owner: string, topicFilter: string): boolean {
    const { kind, id } = parseOwner(owner)
    if (kind === 'device') return isDownlinkOf(id, topicFilter) || this.#isZonesOf(id, topicFilter)
    const caller = this.#deps.users.callerOf(id)
    if (caller === undefined) return false
    if (isAdmin(caller)) return true
    const [root = '', hardwareId = '', level = '#'] = topicFilter.split('/')
    // what the filter names can only be the codes of lock events
    if (level === CODES_LEVEL && !canSeeCodes(caller)) return false
    if (root === '#' || root === '+') return true
    if (root === ALERTS_ROOT) return this.#mayAskForAlerts(caller, topicFilter)
    if (root === 'sit') return isStaff(caller) && (hasWildcard(level) || level === ZONES_LEVEL)
    const isShown = hasWildcard(level) || USERS_LEVELS.has(level)
    return root === 'dev' && isShown && (hasWildcard(hardwareId) || canSee(caller, hardwareId))
  }

  /**
   * An admin reads everything; users and staff the messages from and to the devices in scope, staff also all zones, but
   * not what only an admin may read over HTTP (configuration; of users, zones); a device its own. Commands are handed
   * to a device one by one, while their time to live lasts: no queue may keep them for it.
   */
  canRead(owner: string, topic: string): boolean {
    const { kind, id } = parseOwner(owner)
    if (kind === 'device') {
      return topic !== deviceTopic(id, 'cmd') && (isDownlinkOf(id, topic) || this.#isZonesOf(id, topic))
    }
    const caller = this.#deps.users.callerOf(id)
    if (caller === undefined) return false
    if (isAdmin(caller)) return true
    const [root, hardwareId = '', level = ''] = topic.split('/', 3)
    if (level === CODES_LEVEL && !canSeeCodes(caller)) return false
    if (root === ALERTS_ROOT) return this.#mayReadAlert(caller, topic)
    if (root === 'sit') return isStaff(caller) && level === ZONES_LEVEL
    return root === 'dev' && USERS_LEVELS.has(level) && canSee(caller, hardwareId)
  }

  /**
   * A device publishes its own messages, an admin what is neither a device's nor the gateway's; other users do not
   * publish.
   */
  publishRight(login: MqttLogin, topic: string): Uplink | 'message' | undefined {
    if (login.kind === 'device') {
      if (!topic.startsWith(login.topicPrefix)) return undefined
      return UPLINK_BY_LEVEL.get(topic.slice(login.topicPrefix.length))
    }
    const caller = this.#deps.users.callerOf(login.userId)
    const isFree = !/^(dev\/|sit\/|alert\/|\$)/.test(topic)
    return caller !== undefined && isAdmin(caller) && isFree ? 'message' : undefined
  }

  /** A last will comes when the device is gone and cannot be asked: it may publish its own status, nothing else. */
  mayLeaveWill(login: MqttLogin, topic: string): boolean {
    const right = this.publishRight(login, topic)
    return login.kind === 'device' ? right === 'st' : right !== undefined && !hasWildcard(topic)
  }

  connected(login: MqttLogin): void {
    if (login.kind === 'device' && login.device !== null) this.#deps.presence.connected(login.device, login)
  }

  subscribed(login: MqttLogin, topicFilters: readonly string[]): void {
    if (login.kind !== 'device') return
    const { hardwareId } = login
    if (topicFilters.includes(deviceTopic(hardwareId, 'key'))) login.handshake?.listen(login.device)
    if (topicFilters.includes(deviceTopic(hardwareId, 'cmd'))) this.#deps.events.emit('deviceReachable', { hardwareId })
  }

  disconnected(login: MqttLogin): void {
    if (login.kind !== 'device') return
    login.isOver = true
    if (login.device !== null) this.#deps.presence.disconnected(login.device, login)
    // it never enrolled: its session belongs to no device
    else if (login.enrolling === null) this.#deps.broker.forgetSession(login.hardwareId)
  }

  /** Two connections take the id of a device from each other; `takeovers` are new. */
  contested(login: MqttLogin, takeovers: number): void {
    if (login.kind !== 'device' || login.device === null) return
    const { device, hardwareId } = login
    device.takenOver += takeovers
    device.contestedAtMs = this.#deps.clock.nowMs()
    this.#deps.events.emit('idContested', { hardwareId })
  }

  /**
   * Takes a message of a device. Calls `onStored` when it may be acknowledged, `onRefused` when its sender cannot be
   * enrolled or the store refuses it, `onDropped` when it comes before the status with which the device enrols.
   * Returns how many samples and events it holds, at least 1.
   */
  receive(
    login: MqttLogin,
    uplinked: Uplinked,
    changes: readonly SessionChange[],
    onStored: () => void,
    onRefused: (reason: string) => void,
    onDropped: () => void,
  ): number {
    if (login.kind !== 'device') {
      onRefused('topic_not_writable')
    } else if (uplinked.level === 'tq') {
      this.#answerTime(login, uplinked.payload)
      onStored()
    } else if (login.device !== null) {
      // queued before it, so that it is acknowledged after the shared key is void
      if (login.handshake !== null && isKeyAck(uplinked)) login.handshake.confirm(login.device)
      const { items, lockEvents } = this.#deps.ingest.accept(
        login.device,
        login,
        uplinked,
        changes,
        onStored,
        onRefused,
      )
      if (uplinked.level === 'st' && !uplinked.isWill) login.handshake?.offer(login.device)
      if (lockEvents > 0) this.#deps.lockEvents.spend(deviceOwner(login.hardwareId), lockEvents)
      return items
    } else {
      this.#receiveFirst(login, uplinked, changes, onStored, onRefused, onDropped)
    }
    return 1
  }

  /** Keeps a message that ends the connection of its device for who looks at its messages. */
  refused(login: MqttLogin, { topic, payload }: { topic: string; payload: Buffer }, reason: string): void {
    if (login.kind !== 'device') return
    login.device?.recent.take(
      { atMs: this.#deps.clock.nowMs(), topic: topic.slice(0, TOPIC_SHOWN), result: reason },
      payload,
    )
  }

  /** Of a device that has enrolled, its telemetry. */
  telemetryTopic(login: MqttLogin): string | undefined {
    return login.kind === 'device' && login.device !== null ? deviceTopic(login.hardwareId, 'tlm') : undefined
  }

  /** Begins to read a device's telemetry in place, many messages at a time: the same as `receive` for each of them. */
  beginRun(
    login: MqttLogin,
    bytes: Buffer,
    onStored: (from: number, count: number) => void,
    onRefused: (reason: string, count: number) => void,
  ): MessageBatch | undefined {
    if (login.kind !== 'device' || login.device === null) return undefined
    const { device } = login
    return this.#deps.ingest.beginRun({ device, connection: login, bytes, onStored, onRefused })
  }

  /** A device that reports more lock events than it may is not read for a while: it waits and loses nothing. */
  debtOf(owner: string): { reason: string; waitMs: number } | undefined {
    const waitMs = parseOwner(owner).kind === 'device' ? this.#deps.lockEvents.debtMs(owner) : 0
    return waitMs > 0 ? { reason: 'too_many_lock_events', waitMs } : undefined
  }

  /** `alert/{kind}/{cart}` */
  #mayReadAlert(caller: Caller, topic: string): boolean {
    const [, kind = '', level = '', ...more] = topic.split('/')
    const cart = decoded(level)
    return more.length === 0 && cart !== undefined && this.#deps.alerts.mayRead(caller, kind, cart)
  }

  /** Whether a filter below `alert/` could match a topic that the caller may read. */
  #mayAskForAlerts(caller: Caller, topicFilter: string): boolean {
    const [, kind = '', level = '#', ...more] = topicFilter.split('/')
    if (more.length > 1 || (more.length === 1 && more[0] !== '#')) return false
    const isAnyKind = hasWildcard(kind)
    if (!isAnyKind && isSiteKind(kind)) return this.#deps.alerts.mayRead(caller, kind, 'site')
    if (hasWildcard(level)) return true
    // of the site; carts are not called so
    if (isAnyKind && level === 'site') return isStaff(caller)
    return this.#mayReadAlert(caller, `${ALERTS_ROOT}/${isAnyKind ? 'outside' : kind}/${level}`)
  }

  #isZonesOf(hardwareId: string, topic: string): boolean {
    if (!topic.startsWith('sit/')) return false
    const groupId = this.#deps.fleet.byHardwareId(hardwareId)?.row.groupId ?? null
    return groupId !== null && topic === zonesTopic(groupId)
  }

  #receiveFirst(
    login: DeviceLogin,
    uplinked: Uplinked,
    changes: readonly SessionChange[],
    onStored: () => void,
    onRefused: (reason: string) => void,
    onDropped: () => void,
  ): void {
    let message = uplinked
    if (login.enrolling === null) {
      const status = readFirstStatus(uplinked)
      if (status === undefined) {
        this.#deps.ingest.dropped.add('not_enrolled')
        onDropped()
        return
      }
      message = { ...uplinked, drops: status.drops }
      login.enrolling = this.#enrol(login, status)
    }
    void login.enrolling.then(() => {
      if (login.device === null) onRefused('not_enrolled')
      else this.#deps.ingest.accept(login.device, login, message, changes, onStored, onRefused)
    })
  }

  #deviceLogin(hardwareId: string, address: string, credential: Credential): DeviceLogin {
    const { devices, log, broker } = this.#deps
    const topic = deviceTopic(hardwareId, 'key')
    const send = (payload: string) => broker.send(login.hardwareId, topic, payload, login)
    const login: DeviceLogin = {
      kind: 'device',
      hardwareId,
      topicPrefix: `dev/${hardwareId}/`,
      device: this.#deps.fleet.byHardwareId(hardwareId) ?? null,
      handshake: credential === 'own' ? null : new KeyHandshake({ devices, log, send }),
      enrolling: null,
      isOver: false,
      address,
      sinceMs: this.#deps.clock.nowMs(),
    }
    return login
  }

  /** User name = user id, password = API key, any client id. */
  #loginUser(userId: string, password: Buffer, address: string): LoginResult {
    const { keyGuard } = this.#deps
    try {
      const { caller } = keyGuard.verify(password.toString('utf8'), address)
      if (caller.userId !== userId) return { ok: false, reason: 'bad_credentials' }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return { ok: false, reason: 'bad_credentials' }
    }
    return { ok: true, login: { kind: 'user', userId }, owner: userOwner(userId), isClientIdUnique: false }
  }

  /** The shared key opens for a device that is to enrol, and until a device has shown its own password. */
  #credentialOf(
    device: Device | undefined,
    hardwareId: string,
    password: Buffer,
  ): Credential | (LoginResult & { ok: false }) {
    const { enrolment, fleet } = this.#deps
    if (device !== undefined) {
      if (isPasswordOf(device, password)) return 'own'
      const isShared = device.row.isOnSharedKey && enrolment.isKey(password)
      return isShared ? 'shared' : { ok: false, reason: 'bad_credentials' }
    }
    const isFree = isHardwareId(hardwareId) && fleet.find(hardwareId) === undefined
    if (!isFree || !enrolment.isKey(password)) return { ok: false, reason: 'unknown_device' }
    const reason = enrolment.refusalOf(hardwareId)
    return reason === null ? 'shared' : { ok: false, reason, isAuthentic: true }
  }

  /** At once, and written down after: until it is, the device shows its password with each login. */
  #showedPassword(device: Device): void {
    device.row = { ...device.row, isOnSharedKey: false }
    void this.#deps.devices.confirmPassword(device, device.row.mqttPasswordHash)
  }

  #enrol(login: DeviceLogin, { deviceType, cart }: FirstStatus): Promise<void> {
    const { devices, enrolment, fleet, presence, log } = this.#deps
    const { hardwareId } = login
    const begin = (device: Device) => {
      login.device = device
      if (!login.isOver) presence.connected(device, login)
    }
    return devices
      .enrol({ hardwareId, deviceType, cart }, () => enrolment.refusalOf(hardwareId))
      .then(
        ({ device, password }) => {
          begin(device)
          login.handshake?.registered(device, password)
          log.info({ hardwareId, deviceType }, 'enrolled a device')
        },
        (error: unknown) => {
          login.enrolling = null
          const device = fleet.byHardwareId(hardwareId)
          // an earlier connection of the same device was quicker
          if (device?.row.isOnSharedKey) {
            begin(device)
            login.handshake?.offer(device)
          } else log.warn({ hardwareId, reason: describeError(error) }, 'could not enrol a device')
        },
      )
  }

  /** A question for the time that gets no answer. */
  #drop(login: DeviceLogin, payload: Buffer, reason: string): void {
    const { ingest } = this.#deps
    ingest.dropped.add(reason)
    if (login.device !== null) ingest.note(login.device, { level: 'tq', payload }, reason)
  }

  #answerTime(login: DeviceLogin, payload: Buffer): void {
    const question = timeQuestionSchema.safeParse(parseOrUndefined(payload))
    if (!question.success) {
      this.#drop(login, payload, 'invalid_time_question')
      return
    }
    const { clock, clockConfirmation } = this.#deps
    clockConfirmation.asked(login.hardwareId)
    const answer = { t: clock.nowMs(), up: question.data.up }
    // a device with a wrong time dates its samples by it; one without a time counts its uptime
    if (!clock.isTrusted) {
      this.#drop(login, payload, 'clock_not_set')
      return
    }
    if (login.device !== null) {
      login.device.asksForTime = true
      this.#deps.ingest.note(login.device, { level: 'tq', payload }, 'answered')
    }
    this.#deps.broker.publish(deviceTopic(login.hardwareId, 'ta'), JSON.stringify(answer))
  }
}

/** What stands percent-encoded in a topic; undefined where nothing does. */
function decoded(level: string): string | undefined {
  try {
    return decodeURIComponent(level)
  } catch {
    return undefined
  }
}

/** How the broker names a device among the owners of sessions. */
export function deviceOwner(hardwareId: string): string {
  return `device:${hardwareId}`
}

/** How the broker names a user among the owners of sessions. */
export function userOwner(userId: string): string {
  return `user:${userId}`
}

/** Whom an owner of sessions stands for. */
export function parseOwner(owner: string): { kind: 'device' | 'user'; id: string } {
  const isDevice = owner.startsWith('device:')
  return { kind: isDevice ? 'device' : 'user', id: owner.slice(owner.indexOf(':') + 1) }
}

function isDownlinkOf(hardwareId: string, topic: string): boolean {
  return DOWNLINKS.some((level) => topic === deviceTopic(hardwareId, level))
}

function isPasswordOf(device: Device, password: Buffer): boolean {
  return hashesEqual(hashSecret(password), device.row.mqttPasswordHash)
}

/** Whether a device says that it has its own password. */
function isKeyAck({ level, payload }: Uplinked): boolean {
  if (level !== 'ack') return false
  const ack = ackMessageSchema.safeParse(parseOrUndefined(payload))
  return ack.success && ack.data.key === 1
}
