import { setTimeout as wait } from 'node:timers/promises'
import { connect, type MqttClient, Store } from 'mqtt'
import { deviceTopic, keyMessageSchema, type Uplink } from '#shared/wire/mqtt.ts'
import { simulatedType } from './device-types.ts'
import type { Qos } from './options.ts'
import type { MqttCredentials } from './register.ts'

/** Connection of one device, as the rest of the simulator sees it. */
export interface DeviceLink {
  readonly isConnected: boolean
  /** Number of published messages that are not acknowledged yet. */
  readonly inFlight: number
  connect(): void
  /** Cuts the connection without a DISCONNECT, so that the broker publishes the last will. `connect` restores it. */
  loseSignal(): void
  /** Publishes the offline status and disconnects; `connect` wakes the device again. */
  sleep(): Promise<void>
  /** Resolves when the broker has acknowledged the message, however many reconnects that takes. */
  publish(level: Uplink, payload: string): Promise<void>
  /** Subscribes to one additional topic, now and after every reconnect, replacing the previous one; null for none. */
  follow(topic: string | null): void
}

export interface DeviceClientOptions {
  readonly brokerUrl: string
  readonly hardwareId: string
  readonly deviceType: string
  readonly credentials: MqttCredentials
  readonly qos: Qos
  readonly traffic: Traffic
  /** Returns the number of the current boot, for the birth message. */
  readonly boot: () => number
  readonly onMessage: (topic: string, payload: string) => void
}

const FIRST_RETRY_MS = 500
const LONGEST_RETRY_MS = 8_000
const GOODBYE_MS = 3_000
const KEEPALIVE_S = 60

/** MQTT client of one device: persistent session, birth and last will, reconnects with increasing pauses. */
export class DeviceClient implements DeviceLink {
  readonly #options: DeviceClientOptions
  // kept over reconnects, so that what was not acknowledged is sent again
  readonly #stores = {
    incomingStore: new Store({ clean: false }),
    outgoingStore: new Store({ clean: false }),
  }
  #followed: string | null = null
  #client: MqttClient | undefined
  #wantsConnection = false
  #retryMs = FIRST_RETRY_MS
  #retryTimer: NodeJS.Timeout | undefined
  #inFlight = 0
  /** True once the broker has the messages left over from the last connection. */
  #isReady = false
  #refused: (() => void)[] = []

  constructor(options: DeviceClientOptions) {
    this.#options = options
  }

  get isConnected(): boolean {
    return this.#wantsConnection && this.#isReady
  }

  get inFlight(): number {
    return this.#inFlight
  }

  connect(): void {
    if (this.#wantsConnection) return
    this.#wantsConnection = true
    this.#retryMs = FIRST_RETRY_MS
    this.#open()
  }

  loseSignal(): void {
    this.#hangUp()
    this.#client?.stream.destroy()
  }

  async sleep(): Promise<void> {
    const client = this.#client
    const wasConnected = this.isConnected
    this.#hangUp()
    if (client === undefined) return
    if (wasConnected) {
      const goodbye = this.#publishOn(client, 'st', '{"online":false,"r":"sleep"}', 1, true)
      await Promise.race([goodbye, wait(GOODBYE_MS, undefined, { ref: false })])
    }
    // a clean end waits for all acknowledgements, which a stopped gateway never sends
    if (client.connected && this.#inFlight === 0)
      await Promise.race([client.endAsync(), wait(GOODBYE_MS, undefined, { ref: false })])
    client.stream.destroy()
  }

  publish(level: Uplink, payload: string): Promise<void> {
    if (this.#client === undefined) return Promise.reject(new Error('Not connected yet'))
    const qos = level === 'ack' ? 1 : this.#options.qos
    return this.#publishOn(this.#client, level, payload, qos, false)
  }

  follow(topic: string | null): void {
    const previous = this.#followed
    if (topic === previous) return
    this.#followed = topic
    if (!this.isConnected) return
    // the session is persistent, and so are subscriptions that are not removed
    if (previous !== null) this.#client?.unsubscribe(previous)
    if (topic !== null) this.#client?.subscribe(topic, { qos: 1 })
  }

  #open(): void {
    if (this.#client === undefined) this.#client = this.#createClient()
    else this.#client.reconnect(this.#stores)
  }

  #createClient(): MqttClient {
    const { brokerUrl, hardwareId, credentials } = this.#options
    const client = connect(brokerUrl, {
      // like the rest of Node; mqtt rejects by default
      rejectUnauthorized: process.env.NODE_TLS_REJECT_UNAUTHORIZED !== '0',
      clientId: credentials.client_id,
      username: credentials.username,
      password: credentials.password,
      protocolVersion: 4,
      clean: false,
      keepalive: KEEPALIVE_S,
      // this class makes the pauses between attempts: they increase, and a device without signal makes no attempt
      reconnectPeriod: 0,
      resubscribe: false,
      will: {
        topic: deviceTopic(hardwareId, 'st'),
        payload: Buffer.from('{"online":false}'),
        qos: 1,
        retain: true,
      },
      ...this.#stores,
    })
    client.on('connect', () => this.#onConnect(client))
    client.on('close', () => this.#onClose())
    client.on('message', (topic, payload) => {
      if (topic === deviceTopic(hardwareId, 'key')) this.#keepPassword(client, payload.toString())
      else this.#options.onMessage(topic, payload.toString())
    })
    // every error is followed by a close, which handles it
    client.on('error', () => undefined)
    return client
  }

  #onConnect(client: MqttClient): void {
    const { hardwareId, deviceType, boot, credentials } = this.#options
    this.#retryMs = FIRST_RETRY_MS
    const levels = ['cmd', 'cfg', ...(credentials.isEnrolmentKey ? (['key'] as const) : [])] as const
    const own = levels.map((level) => deviceTopic(hardwareId, level))
    client.subscribe([...own, ...(this.#followed === null ? [] : [this.#followed])], { qos: 1 })
    const fw = simulatedType(deviceType).firmware
    const { isEnrolmentKey, cart } = credentials
    const enrols = isEnrolmentKey === true && cart != null
    const birth = JSON.stringify({
      online: true,
      fw,
      type: deviceType,
      boot: boot(),
      ...(enrols && { cart }),
    })
    void this.#publishOn(client, 'st', birth, 1, true)
    this.#isReady = true
    for (const publishAgain of this.#refused.splice(0)) publishAgain()
  }

  /** Stores the device's own password, which replaces the enrolment key. */
  #keepPassword(client: MqttClient, payload: string): void {
    const { password } = keyMessageSchema.parse(JSON.parse(payload))
    Object.assign(this.#options.credentials, { password, isEnrolmentKey: false })
    client.options.password = password
    void this.publish('ack', '{"key":1}')
  }

  #onClose(): void {
    this.#isReady = false
    if (!this.#wantsConnection) return
    this.#options.traffic.drops += 1
    clearTimeout(this.#retryTimer)
    this.#retryTimer = setTimeout(() => this.#open(), this.#retryMs * (0.75 + Math.random() / 2))
    this.#retryMs = Math.min(LONGEST_RETRY_MS, this.#retryMs * 2)
  }

  #hangUp(): void {
    this.#isReady = false
    this.#wantsConnection = false
    clearTimeout(this.#retryTimer)
  }

  #publishOn(client: MqttClient, level: Uplink, payload: string, qos: Qos, retain: boolean): Promise<void> {
    const { traffic, hardwareId } = this.#options
    traffic.sent += 1
    this.#inFlight += 1
    return new Promise((resolve) => {
      const settle = (isAcked: boolean) => {
        this.#inFlight -= 1
        if (isAcked) traffic.acked += 1
        else traffic.lost += 1
        resolve()
      }
      const send = () =>
        client.publish(deviceTopic(hardwareId, level), payload, { qos, retain }, (error) => {
          if (error === undefined || error === null) settle(true)
          // mqtt.js drops messages published while it was resending when that connection breaks, QoS 1 too. A status is
          // not repeated: an old offline status after a new birth would be wrong.
          else if (qos > 0 && level !== 'st') this.#refused.push(send)
          else settle(false)
        })
      send()
    })
  }
}

/** Counters of the simulated devices: the figures of the status line. */
export class Traffic {
  sent = 0
  acked = 0
  /** Published without acknowledgement (QoS 0) into a connection that broke. */
  lost = 0
  /** Connections lost or refused unintentionally. */
  drops = 0
}
