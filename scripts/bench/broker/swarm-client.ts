import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { MqttSocket } from '#scripts/rig/load/mqtt-socket.ts'
import { acknowledgement, PACKET, subscribeAllPacket } from '#testing/mqtt-packets.ts'

/** Devices that connect, subscribe and then send nothing. */
export interface SwarmPlan {
  port: number
  /** Last levels of the topics each device subscribes to. */
  leaves: readonly string[]
  isClean: boolean
  hasWill: boolean
  clients: readonly BenchDevice[]
}

/** Outcome of one connection of a client. */
export interface Arrival {
  isSessionPresent: boolean
  refusedSubscriptions: number
  retries: number
}

const KEEP_ALIVE_S = 600
const RETRY_MS = 100

export class SwarmClient {
  readonly #plan: SwarmPlan
  readonly #hardwareId: string
  readonly #password: string
  #socket: MqttSocket | undefined

  constructor(plan: SwarmPlan, { hardwareId, password }: BenchDevice) {
    this.#plan = plan
    this.#hardwareId = hardwareId
    this.#password = password
  }

  /** Connects; calls back when CONNACK and, if `subscribes`, one SUBACK for each subscription have arrived. */
  come(round: number, subscribes: boolean, onThrough: (arrival: Arrival) => void, retries = 0): void {
    const { port, leaves } = this.#plan
    const arrival: Arrival = { isSessionPresent: false, refusedSubscriptions: 0, retries }
    let left = 1 + (subscribes ? leaves.length : 0)
    const answered = () => {
      left--
      if (left === 0) onThrough(arrival)
    }
    const socket = new MqttSocket(port, this.#login(round), {
      connack: (returnCode, isSessionPresent) => {
        if (returnCode !== 0) throw new Error(`${this.#hardwareId}: CONNACK ${returnCode}`)
        arrival.isSessionPresent = isSessionPresent
        if (subscribes) this.#subscribe(socket)
        answered()
      },
      suback: (returnCodes) => {
        arrival.refusedSubscriptions += returnCodes.filter((code) => code >= 0x80).length
        answered()
      },
      publish: (packetId) => {
        if (packetId !== 0) socket.write(acknowledgement(PACKET.puback, packetId))
      },
      closed: () => {
        if (left === 0 || this.#socket !== socket) return
        setTimeout(() => this.come(round, subscribes, onThrough, retries + 1), RETRY_MS)
      },
    })
    this.#socket = socket
  }

  cut(): void {
    this.#socket?.cut()
    this.#socket = undefined
  }

  /** Sends one SUBSCRIBE per topic, as most device libraries do. */
  #subscribe(socket: MqttSocket): void {
    for (const [i, leaf] of this.#plan.leaves.entries())
      socket.write(subscribeAllPacket([`dev/${this.#hardwareId}/${leaf}`], 1, i + 1))
  }

  #login(round: number) {
    const login = {
      clientId: this.#hardwareId,
      username: this.#hardwareId,
      password: this.#password,
      clean: this.#plan.isClean,
      keepaliveS: KEEP_ALIVE_S,
    }
    if (!this.#plan.hasWill) return login
    const topic = `dev/${this.#hardwareId}/st`
    // the round distinguishes this connection's will from the previous one
    return { ...login, will: { topic, payload: willPayload(round) } }
  }
}

/** Payload of the last will of all connections of a round. */
export function willPayload(round: number): string {
  return `{"online":false,"boot":${round}}`
}
