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

/** Login of a device. `device` is null until it has enrolled. */
interface DeviceLogin extends DeviceConnection {
  readonly kind: 'device'
  readonly hardwareId: string
  /** Prefix of all its topics. */
  readonly topicPrefix: string
  device: Device | null
  /** Null if the device used its own password. */
  handshake: KeyHandshake | null
  /** Pending while the first `st` message registers the device. */
  enrolling: Promise<void> | null
  /** True once the connection has ended, perhaps before its device was registered. */
  isOver: boolean
}

/** Login of a program with an API key. */
interface UserLogin {
  readonly kind: 'user'
  readonly userId: string
}

export type MqttLogin = DeviceLogin | UserLogin

type LoginResult =
  | { ok: true; login: MqttLogin; owner: string; isClientIdUnique: boolean }
  | { ok: false; reason: 'bad_credentials' | 'client_id_mismatch' | 'unknown_device' }
  | { ok: false; reason: EnrolmentRefusal; isAuthentic: true }

/** Credential of a device: its own password, or the shared key. */
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
  /** Budget of lock events per device, since they are stored until retention deletes them. */
  lockEvents: Pick<Rates, 'spend' | 'debtMs'>
  /** Decides access to messages about alerts. */
  alerts: { mayRead(caller: Caller, kind: string, cart: string): boolean }
  broker: {
    /** Publishes to MQTT clients with QoS 0. */
    publish(topic: string, payload: string): void
    /** Sends to the connection of one login with QoS 1; returns false if it has ended or has not subscribed. */
    send(clientId: string, topic: string, payload: string, login: MqttLogin): boolean
    forgetSession(clientId: string): void
  }
}

const ALERTS_ROOT = 'alert'

/** Limit of a wrong topic in the log, since it may have any length. */
const TOPIC_SHOWN = 256

/** Level of zones of a group; staff read those of all groups, as over HTTP. */
const ZONES_LEVEL = 'sz'

/** Levels with unmasked codes that unlocked a device, and with calls of golfers, which programs read alike. */
const CODES_LEVELS: ReadonlySet<string> = new Set<Uplink>(['evt', 'call'])

const UPLINK_BY_LEVEL = new Map<string, Uplink>(UPLINKS.map((level) => [level, level]))

/** Levels of device topics that users without admin rights may read, matching their access over HTTP. */
const USERS_LEVELS: ReadonlySet<string> = new Set([...UPLINKS, 'cmd', 'ta'])

/** Access rules of the broker: authenticates clients, authorises reads and writes, and routes messages of devices. */
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

  /** Restores the login of a disconnected client, to publish its last will. */
  resume(owner: string): MqttLogin | undefined {
    const { kind, id } = parseOwner(owner)
    if (kind === 'user') return this.#deps.users.callerOf(id) && { kind: 'user', userId: id }
    const login = this.#deviceLogin(id, 'none', 'own')
    return login.device === null ? undefined : login
  }

  /** True for admins, who must get in when all other connections are taken. */
  mayUseReserve(owner: string): boolean {
    const { kind, id } = parseOwner(owner)
    const caller = kind === 'user' ? this.#deps.users.callerOf(id) : undefined
    return caller !== undefined && isAdmin(caller)
  }

  /**
   * Allows a device its own `cmd`, `cfg`, `ta` and `key` and the `sz` of its group, and nothing else: no wildcard, no
   * topic of another device. Allows a user every filter that could match a topic it may read; `canRead` then checks
   * each message. A user with masked codes cannot read `evt`.
   */
  canSubscribe(owner: string, topicFilter: string): boolean {
    const { kind, id } = parseOwner(owner)
    if (kind === 'device') return isDownlinkOf(id, topicFilter) || this.#isZonesOf(id, topicFilter)
    const caller = this.#deps.users.callerOf(id)
    if (caller === undefined) return false
    if (isAdmin(caller)) return true
    const [root = '', hardwareId = '', level = '#'] = topicFilter.split('/')
    // the filter can only match codes of lock events or calls
    if (CODES_LEVELS.has(level) && !canSeeCodes(caller)) return false
    if (root === '#' || root === '+') return true
    if (root === ALERTS_ROOT) return this.#mayAskForAlerts(caller, topicFilter)
    if (root === 'sit') return isStaff(caller) && (hasWildcard(level) || level === ZONES_LEVEL)
    const isShown = hasWildcard(level) || USERS_LEVELS.has(level)
    return root === 'dev' && isShown && (hasWildcard(hardwareId) || canSee(caller, hardwareId))
  }

  /**
   * Allows an admin everything; users and staff the messages from and to the devices in scope, staff also all zones,
   * but not what only an admin may read over HTTP (configuration; for users, zones); a device its own. Commands are
   * sent to a device one by one, while their time to live lasts: no queue may keep them for it.
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
    if (CODES_LEVELS.has(level) && !canSeeCodes(caller)) return false
    if (root === ALERTS_ROOT) return this.#mayReadAlert(caller, topic)
    if (root === 'sit') return isStaff(caller) && level === ZONES_LEVEL
    return root === 'dev' && USERS_LEVELS.has(level) && canSee(caller, hardwareId)
  }

  /** Allows a device its own messages, an admin topics of neither devices nor the gateway; others may not publish. */
  publishRight(login: MqttLogin, topic: string): Uplink | 'message' | undefined {
    if (login.kind === 'device') {
      if (!topic.startsWith(login.topicPrefix)) return undefined
      return UPLINK_BY_LEVEL.get(topic.slice(login.topicPrefix.length))
    }
    const caller = this.#deps.users.callerOf(login.userId)
    const isFree = !/^(dev\/|sit\/|alert\/|\$)/.test(topic)
    return caller !== undefined && isAdmin(caller) && isFree ? 'message' : undefined
  }

  /** Allows only the device's own status as a last will: it is published when rights can no longer be checked. */
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

  /** Called when two connections take the id of a device from each other; `takeovers` counts the new ones. */
  contested(login: MqttLogin, takeovers: number): void {
    if (login.kind !== 'device' || login.device === null) return
    const { device, hardwareId } = login
    device.takenOver += takeovers
    device.contestedAtMs = this.#deps.clock.nowMs()
    this.#deps.events.emit('idContested', { hardwareId })
  }

  /**
   * Processes a message of a device. Calls `onStored` when it may be acknowledged, `onRefused` if its sender cannot be
   * enrolled or the store rejects it, `onDropped` if it precedes the status with which the device enrols. Returns the
   * number of its samples and events, at least 1.
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
      // queued first, so that the message is acknowledged after the shared key is revoked
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

  /** Keeps a message that ended the connection of its device, for diagnosis. */
  refused(login: MqttLogin, { topic, payload }: { topic: string; payload: Buffer }, reason: string): void {
    if (login.kind !== 'device') return
    login.device?.recent.take(
      { atMs: this.#deps.clock.nowMs(), topic: topic.slice(0, TOPIC_SHOWN), result: reason },
      payload,
    )
  }

  /** Returns the telemetry topic of an enrolled device. */
  telemetryTopic(login: MqttLogin): string | undefined {
    return login.kind === 'device' && login.device !== null ? deviceTopic(login.hardwareId, 'tlm') : undefined
  }

  /** Begins a batch of telemetry messages of a device, processed in place with the effect of `receive` for each. */
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

  /** Returns the pause of a device over its budget of lock events: its connection is not read, so it loses nothing. */
  debtOf(owner: string): { reason: string; waitMs: number } | undefined {
    const waitMs = parseOwner(owner).kind === 'device' ? this.#deps.lockEvents.debtMs(owner) : 0
    return waitMs > 0 ? { reason: 'too_many_lock_events', waitMs } : undefined
  }

  /** Checks a topic `alert/{kind}/{cart}`. */
  #mayReadAlert(caller: Caller, topic: string): boolean {
    const [, kind = '', level = '', ...more] = topic.split('/')
    const cart = decoded(level)
    return more.length === 0 && cart !== undefined && this.#deps.alerts.mayRead(caller, kind, cart)
  }

  /** True if a filter below `alert/` could match a topic that the caller may read. */
  #mayAskForAlerts(caller: Caller, topicFilter: string): boolean {
    const [, kind = '', level = '#', ...more] = topicFilter.split('/')
    if (more.length > 1 || (more.length === 1 && more[0] !== '#')) return false
    const isAnyKind = hasWildcard(kind)
    if (!isAnyKind && isSiteKind(kind)) return this.#deps.alerts.mayRead(caller, kind, 'site')
    if (hasWildcard(level)) return true
    // alerts of the site; no cart has this name
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

  /** Authenticates a user: user name = user id, password = API key, any client id. */
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

  /** Returns a device's credential; the shared key is valid before enrolment and until its own password was used. */
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

  /** Applies immediately and is stored later: until then, each login of the device repeats it. */
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
          // an earlier connection of the same device has already done it
          if (device?.row.isOnSharedKey) {
            begin(device)
            login.handshake?.offer(device)
          } else log.warn({ hardwareId, reason: describeError(error) }, 'enrolling a device failed')
        },
      )
  }

  /** Drops a request for the time without a response. */
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
    // no time is better than a wrong one, by which the device would date its samples; without one it counts its uptime
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

/** Decodes a percent-encoded topic level; undefined if the encoding is invalid. */
function decoded(level: string): string | undefined {
  try {
    return decodeURIComponent(level)
  } catch {
    return undefined
  }
}

/** Returns the session `owner` that the broker uses for a device. */
export function deviceOwner(hardwareId: string): string {
  return `device:${hardwareId}`
}

/** Returns the session `owner` that the broker uses for a user. */
export function userOwner(userId: string): string {
  return `user:${userId}`
}

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

/** True if a message confirms that the device has its own password. */
function isKeyAck({ level, payload }: Uplinked): boolean {
  if (level !== 'ack') return false
  const ack = ackMessageSchema.safeParse(parseOrUndefined(payload))
  return ack.success && ack.data.key === 1
}
