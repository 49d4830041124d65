import { answerCalls } from '#scripts/rig/calls.ts'
import { type BenchDevice, loginOf } from '#scripts/rig/gateway-api.ts'
import { MqttSocket } from '#scripts/rig/load/mqtt-socket.ts'
import { inParallel } from '#shared/in-parallel.ts'
import { acknowledgement, PACKET, subscribeAllPacket } from '#testing/mqtt-packets.ts'

/** Process of a swarm: devices that connect, subscribe and wait, controlled by calls of its parent. */

export interface SwarmPlan {
  port: number
  /** Last levels of the topics each device subscribes to. */
  leaves: readonly string[]
  isClean: boolean
  hasWill: boolean
  clients: readonly BenchDevice[]
}

/** Action of the clients once they are back; `reconnect` leaves the subscriptions to the session. */
export type StormKind = 'reconnect' | 'resubscribe'

const CONNECTS_AT_ONCE = 32
const KEEP_ALIVE_S = 600
const RETRY_MS = 100

let plan: SwarmPlan = { port: 0, leaves: [], isClean: true, hasWill: false, clients: [] }
const sockets = new Map<BenchDevice, MqttSocket>()
let round = 0
let refusedSubscriptions = 0
let withoutSession = 0

/** Payload of the last will of all connections of a round, which distinguishes it from the previous one. */
function willPayload(): string {
  return `{"online":false,"boot":${round}}`
}

/** Connects a client; resolves when CONNACK and, if it `subscribes`, one SUBACK for each subscription have arrived. */
function come(client: BenchDevice, subscribes: boolean): Promise<void> {
  const { port, leaves, isClean, hasWill } = plan
  const { hardwareId } = client
  const will = { topic: `dev/${hardwareId}/st`, payload: willPayload() }
  const login = { ...loginOf(client), clean: isClean, keepaliveS: KEEP_ALIVE_S }
  return new Promise((resolve) => {
    const connect = () => {
      let left = 1 + (subscribes ? leaves.length : 0)
      const answered = () => {
        left--
        if (left === 0) resolve()
      }
      const socket = new MqttSocket(port, hasWill ? { ...login, will } : login, {
        connack: (returnCode, isSessionPresent) => {
          if (returnCode !== 0) throw new Error(`${hardwareId}: CONNACK ${returnCode}`)
          if (!isSessionPresent) withoutSession++
          // one SUBSCRIBE per topic, as most device libraries do
          const filters = subscribes ? leaves.map((leaf) => `dev/${hardwareId}/${leaf}`) : []
          for (const [i, filter] of filters.entries()) socket.write(subscribeAllPacket([filter], 1, i + 1))
          answered()
        },
        suback: (returnCodes) => {
          refusedSubscriptions += returnCodes.filter((code) => code >= 0x80).length
          answered()
        },
        publish: (packetId) => {
          if (packetId !== 0) socket.write(acknowledgement(PACKET.puback, packetId))
        },
        closed: () => {
          if (left > 0) setTimeout(connect, RETRY_MS)
        },
      })
      sockets.set(client, socket)
    }
    connect()
  })
}

const functions = answerCalls({
  /** Connects all devices, a few at a time; throws if a subscription is refused. */
  connect: async (planned: SwarmPlan) => {
    plan = planned
    await inParallel(plan.clients, CONNECTS_AT_ONCE, (client) => come(client, true))
    if (refusedSubscriptions > 0) throw new Error(`${refusedSubscriptions} subscriptions refused`)
  },
  /** Cuts all connections together and lets all clients reconnect together. */
  storm: async (kind: StormKind) => {
    /** Payload that the gateway has to publish for each of the cut connections. */
    const will = willPayload()
    round++
    withoutSession = 0
    refusedSubscriptions = 0
    const startedAtMs = performance.now()
    for (const socket of sockets.values()) socket.cut()
    await Promise.all(plan.clients.map((client) => come(client, kind === 'resubscribe')))
    return { durationMs: performance.now() - startedAtMs, will, withoutSession, refusedSubscriptions }
  },
})

export type SwarmFunctions = typeof functions
