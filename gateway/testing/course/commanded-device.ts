import { connect, type MqttClient } from 'mqtt'
import { eventually } from '#shared/testing/eventually.ts'
import { type CommandMessage, deviceTopic } from '#shared/wire/mqtt.ts'
import type { TestGateway } from '../start-gateway.ts'

/** Gateway for requests of admins and connections of devices, in this process or in another. */
export type AskedGateway = Pick<TestGateway, 'mqtt' | 'register' | 'request'>

interface DeviceOptions {
  /** False for a kept session. */
  isClean?: boolean
  /** False if the subscription comes from the kept session, or is missing. */
  subscribes?: boolean
}

/** Device that subscribes to its commands, and keeps them until the test reads them. */
export class CommandedDevice {
  readonly hardwareId: string
  readonly client: MqttClient
  readonly #received: CommandMessage[] = []

  private constructor(hardwareId: string, client: MqttClient) {
    this.hardwareId = hardwareId
    this.client = client
    client.on('error', () => undefined)
    // before it connects: a kept session delivers immediately
    client.on('message', (_, payload) => this.#received.push(JSON.parse(payload.toString())))
  }

  static async connect(
    gateway: AskedGateway,
    hardwareId: string,
    password: string,
    { isClean = true, subscribes = true }: DeviceOptions = {},
  ): Promise<CommandedDevice> {
    const client = connect(gateway.mqtt, {
      clientId: hardwareId,
      username: hardwareId,
      password,
      clean: isClean,
      reconnectPeriod: 0,
      manualConnect: true,
    })
    const device = new CommandedDevice(hardwareId, client)
    await new Promise<void>((resolve, reject) => {
      client.once('connect', () => resolve())
      client.once('error', reject)
      client.connect()
    })
    if (subscribes) await client.subscribeAsync(deviceTopic(hardwareId, 'cmd'), { qos: 1 })
    return device
  }

  /** Returns the next command; rejects if none arrives within the timeout. */
  async next(patienceMs?: number): Promise<CommandMessage> {
    await eventually(() => this.#received.length > 0, `a command for ${this.hardwareId}`, patienceMs)
    const message = this.#received.shift()
    if (message === undefined) throw new Error('no command')
    return message
  }

  /** Returns all commands sent so far that were not read yet. */
  async flush(): Promise<CommandMessage[]> {
    // its acknowledgement comes after everything that was sent before it
    await this.client.publishAsync(deviceTopic(this.hardwareId, 'tlm'), '{"speed":0}', { qos: 1 })
    return this.#received.splice(0)
  }

  /** Acknowledges a command; resolves when that is on the disk. */
  async ack(id: string, st: string, err?: string): Promise<void> {
    const payload = JSON.stringify({ id, st, ...(err === undefined ? {} : { err }) })
    await this.client.publishAsync(deviceTopic(this.hardwareId, 'ack'), payload, { qos: 1 })
  }

  async report(event: object): Promise<void> {
    await this.client.publishAsync(deviceTopic(this.hardwareId, 'evt'), JSON.stringify(event), { qos: 1 })
  }

  /** Breaks the connection without DISCONNECT; resolves when the gateway has detected it. */
  async lose(gateway: AskedGateway): Promise<void> {
    this.client.stream.destroy()
    await eventually(async () => {
      const { body } = await gateway.request('GET', `/devices/${this.hardwareId}`)
      return !body.is_online
    }, `${this.hardwareId} is gone`)
  }

  async leave(): Promise<void> {
    await this.client.endAsync()
  }
}

/** Command as the API shows it. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
type CommandAnswer = any

/** Requests a command as the admin; throws if it is rejected. */
export async function askCommand(
  gateway: AskedGateway,
  hardwareId: string,
  command: string,
  fields: Record<string, unknown> = {},
): Promise<CommandAnswer> {
  const request = { body: { command, ...fields } }
  const { status, body } = await gateway.request('POST', `/devices/${hardwareId}/commands`, request)
  if (status !== 202) throw new Error(`not taken: ${JSON.stringify(body)}`)
  return body
}

export async function readCommand(gateway: AskedGateway, commandId: string): Promise<CommandAnswer> {
  return (await gateway.request('GET', `/commands/${commandId}`)).body
}

/** Waits until a command reaches a state; returns it then. */
export async function commandBecomes(gateway: AskedGateway, commandId: string, status: string): Promise<CommandAnswer> {
  const isThere = async () => (await readCommand(gateway, commandId)).status === status
  await eventually(isThere, `${commandId} is ${status}`)
  return readCommand(gateway, commandId)
}
