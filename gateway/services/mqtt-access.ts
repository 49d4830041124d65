import { hashesEqual, hashSecret, isHardwareId } from '../../shared/ids.ts'
import type { Log } from '../../shared/log.ts'
import type { Clock } from '../../shared/time.ts'
import {
  DOWNLINKS,
  deviceTopic,
  statusMessageSchema,
  timeQuestionSchema,
  UPLINKS,
  type Uplink,
} from '../../shared/wire/mqtt.ts'
import type { Devices } from './devices.ts'
import type { Device, Fleet } from './fleet.ts'
import type { Ingest, Uplinked } from './ingest.ts'
import type { DeviceConnection, Presence } from './presence.ts'

/** A connection that logged in. `device` is null for one that is still to enrol. */
export interface DeviceSession extends DeviceConnection {
  readonly hardwareId: string
  /** What all its topics begin with. */
  readonly topicPrefix: string
  device: Device | null
  /** Under way while the first `st` message registers the device. */
  enrolling: Promise<void> | null
  /** The connection has ended, perhaps before its device was registered. */
  isOver: boolean
}

export type LoginResult =
  | { ok: true; session: DeviceSession }
  | { ok: false; reason: 'bad_credentials' | 'client_id_mismatch' | 'unknown_device' }

interface MqttAccessDeps {
  fleet: Fleet
  devices: Devices
  ingest: Ingest
  presence: Presence
  clock: Clock
  log: Log
  enrolmentKey: string | undefined
  /** Publishes to MQTT clients, QoS 0. */
  answer: (topic: string, payload: string) => void
}

const UPLINK_BY_LEVEL = new Map<string, Uplink>(UPLINKS.map((level) => [level, level]))

/** What the broker asks of the gateway: who may log in, read and publish, and what becomes of a message. */
export class MqttAccess {
  readonly #deps: MqttAccessDeps

  constructor(deps: MqttAccessDeps) {
    this.#deps = deps
  }

  login(
    clientId: string,
    username: string | undefined,
    password: Buffer | undefined,
    address: string,
  ): LoginResult {
    if (username === undefined || password === undefined) return { ok: false, reason: 'bad_credentials' }
    const device = this.#deps.fleet.byHardwareId(username)
    const isRight =
      device === undefined ? this.#isEnrolmentKey(username, password) : isPasswordOf(device, password)
    if (!isRight) return { ok: false, reason: device === undefined ? 'unknown_device' : 'bad_credentials' }
    if (clientId !== username) return { ok: false, reason: 'client_id_mismatch' }
    const sinceMs = this.#deps.clock.nowMs()
    const topicPrefix = `dev/${username}/`
    const session = {
      hardwareId: username,
      topicPrefix,
      device: device ?? null,
      enrolling: null,
      isOver: false,
      address,
      sinceMs,
    }
    return { ok: true, session }
  }

  /** A device reads its own `cmd`, `cfg` and `ta`, and nothing else: no wildcard, nobody else's. */
  canRead(session: DeviceSession, topicFilter: string): boolean {
    return DOWNLINKS.some((level) => topicFilter === deviceTopic(session.hardwareId, level))
  }

  /** The last level of the topic if the device may publish there; undefined otherwise. */
  uplinkOf(session: DeviceSession, topic: string): Uplink | undefined {
    if (!topic.startsWith(session.topicPrefix)) return undefined
    return UPLINK_BY_LEVEL.get(topic.slice(session.topicPrefix.length))
  }

  /** Whether any MQTT client could be let read this: what devices say goes to the store, not to other clients. */
  isReadable(topic: string): boolean {
    return !topic.startsWith('dev/') || DOWNLINKS.some((level) => topic.endsWith(`/${level}`))
  }

  connected(session: DeviceSession): void {
    if (session.device !== null) this.#deps.presence.connected(session.device, session)
  }

  disconnected(session: DeviceSession): void {
    session.isOver = true
    if (session.device !== null) this.#deps.presence.disconnected(session.device, session)
  }

  /**
   * Takes a message of a device: `onStored` is called when it may be acknowledged, `onRefused` when it must not be
   * taken (a device that has not enrolled speaks of anything but its status, or cannot be enrolled) or not be stored.
   */
  receive(
    session: DeviceSession,
    uplinked: Uplinked,
    onStored: () => void,
    onRefused: (reason: string) => void,
  ): void {
    if (uplinked.level === 'tq') {
      this.#answerTime(session, uplinked.payload)
      onStored()
    } else if (session.device !== null) {
      this.#deps.ingest.accept(session.device, session, uplinked, onStored, onRefused)
    } else {
      this.#receiveFirst(session, uplinked, onStored, onRefused)
    }
  }

  #receiveFirst(
    session: DeviceSession,
    uplinked: Uplinked,
    onStored: () => void,
    onRefused: (reason: string) => void,
  ): void {
    session.enrolling ??= this.#enrol(session, uplinked)
    if (session.enrolling === null) {
      onRefused('not_enrolled')
      return
    }
    void session.enrolling.then(() => {
      if (session.device === null) onRefused('not_enrolled')
      else this.#deps.ingest.accept(session.device, session, uplinked, onStored, onRefused)
    })
  }

  #isEnrolmentKey(hardwareId: string, password: Buffer): boolean {
    const { enrolmentKey, fleet } = this.#deps
    if (enrolmentKey === undefined || !isHardwareId(hardwareId)) return false
    return fleet.find(hardwareId) === undefined && hashesEqual(hashSecret(password), hashSecret(enrolmentKey))
  }

  #enrol(session: DeviceSession, uplinked: Uplinked): Promise<void> | null {
    const deviceType = uplinked.level === 'st' ? typeNamedIn(uplinked.payload) : undefined
    const { devices, enrolmentKey, fleet, presence, log } = this.#deps
    if (deviceType === undefined || enrolmentKey === undefined) return null
    const { hardwareId } = session
    const begin = (device: Device) => {
      session.device = device
      if (!session.isOver) presence.connected(device, session)
    }
    return devices
      .registerWithSecret({ hardwareId, deviceType, name: null, groupId: null }, enrolmentKey)
      .then(
        (device) => {
          begin(device)
          log.info({ hardwareId, deviceType }, 'device enrolled')
        },
        (error: unknown) => {
          session.enrolling = null
          const device = fleet.byHardwareId(hardwareId)
          // an earlier connection of the same device was quicker
          if (device !== undefined && isPasswordOf(device, Buffer.from(enrolmentKey))) begin(device)
          else log.warn({ hardwareId, reason: String(error) }, 'device not enrolled')
        },
      )
  }

  #answerTime(session: DeviceSession, payload: Buffer): void {
    const question = timeQuestionSchema.safeParse(parseOrUndefined(payload))
    if (!question.success) {
      this.#deps.ingest.dropped.add('invalid_time_question')
      return
    }
    const answer = { t: this.#deps.clock.nowMs(), up: question.data.up }
    this.#deps.answer(deviceTopic(session.hardwareId, 'ta'), JSON.stringify(answer))
  }
}

function isPasswordOf(device: Device, password: Buffer): boolean {
  return hashesEqual(hashSecret(password), device.row.mqttPasswordHash)
}

function typeNamedIn(payload: Buffer): string | undefined {
  const status = statusMessageSchema.safeParse(parseOrUndefined(payload))
  return status.success ? status.data.type : undefined
}

function parseOrUndefined(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString('utf8'))
  } catch {
    return undefined
  }
}
