import { SessionClient } from '#scripts/rig/session-client.ts'
import { Program } from '../world/program.ts'
import { firmwareOf } from './local-time.ts'

interface ScreenOptions {
  readonly number: number
  readonly password: string
  readonly port: number
  readonly now: () => number
}

export interface ScreenMessage {
  readonly id: string
  readonly text: string
  readonly atMs: number
  /** Number of the connection on which it came. */
  readonly connection: number
}

/** Screen in a cart, which shows messages and confirms them. */
export class LiveScreen {
  readonly hardwareId: string
  readonly program: Program
  readonly messages: ScreenMessage[] = []
  /** Zone types of which its configuration exempts it; empty without any. */
  exemptTypes: readonly string[] = []
  connections = 0
  isConnected = false
  connectedAtMs = 0
  readonly #client: SessionClient
  readonly #now: () => number

  constructor({ number, password, port, now }: ScreenOptions) {
    this.hardwareId = `screen-${number}`
    this.program = new Program(this.hardwareId)
    this.#now = now
    const topic = (level: string) => `dev/${this.hardwareId}/${level}`
    this.#client = new SessionClient({
      port,
      clientId: this.hardwareId,
      username: this.hardwareId,
      password,
      isPersistent: true,
      subscriptions: { [topic('cmd')]: 1, [topic('cfg')]: 1 },
      will: { topic: topic('st'), payload: '{"online":false}', qos: 1, retain: true },
      longestRetryMs: 15_000,
    })
    const publish = (level: string, fields: object, retain = false) =>
      this.#client.publish({ topic: topic(level), payload: JSON.stringify(fields), qos: 1, retain })
    this.#client.onReady = () => {
      this.isConnected = true
      this.connections += 1
      this.connectedAtMs = now()
      publish('st', { online: true, type: 'cartcaddie', fw: firmwareOf(now()), boot: 1 }, true)
    }
    this.#client.onLost = () => {
      this.isConnected = false
    }
    this.#client.onRefused = () => this.#client.goOnline()
    this.#client.onDelivery = ({ topic: from, payload }) => {
      if (payload === '') return
      const message = JSON.parse(payload)
      if (from.endsWith('/cfg')) {
        this.exemptTypes = message.config.zone_exempt ?? []
        publish('ack', { cfg: message.v })
        return
      }
      if (message.cmd === 'message')
        this.messages.push({ id: message.id, text: message.params.text, atMs: now(), connection: this.connections })
      publish('ack', { id: message.id, st: 'completed' })
    }
  }

  goOnline(): void {
    this.#client.goOnline()
  }

  goOffline(): void {
    this.#client.goOffline('abruptly')
    this.isConnected = false
  }

  /** Time for which it has been connected; 0 if it is not. */
  get connectedMs(): number {
    return this.isConnected ? this.#now() - this.connectedAtMs : 0
  }
}
