import { answerCalls } from '#scripts/rig/calls.ts'
import type { BenchLogin } from '#scripts/rig/gateway-api.ts'
import { MqttSocket } from '#scripts/rig/load/mqtt-socket.ts'
import { acknowledgement, DISCONNECT, PACKET, publishPacket, subscribeAllPacket } from '#testing/mqtt-packets.ts'

/** Process of the usual programs: one reads all telemetry, one refreshes 500 retained topics, 20 come and go. */

const RETAINED_TOPICS = 500
const RETAINED_GAP_MS = 20
const SUBSCRIBERS = 20
const STAY_MIN_MS = 3000
const STAY_SPREAD_MS = 12_000
const KEEP_ALIVE_S = 600

let [port, login] = [0, { username: '', password: '' }]

function start(givenPort: number, givenLogin: BenchLogin): void {
  port = givenPort
  login = givenLogin
  const watcher = new MqttSocket(port, fieldsOf('bench-watcher'), {
    connack: () => watcher.write(subscribeAllPacket(['dev/#'], 0)),
  })
  publishStock()
  for (let i = 0; i < SUBSCRIBERS; i++) comeAndGo(i)
}

function fieldsOf(clientId: string, clean = true) {
  return { clientId, ...login, clean, keepaliveS: KEEP_ALIVE_S }
}

function publishStock(): void {
  let sent = 0
  const publish = () => {
    const item = sent++ % RETAINED_TOPICS
    const payload = `{"item":${item},"stock":${sent},"text":"${'x'.repeat(80)}"}`
    const id = (sent % 60_000) + 1
    socket.write(publishPacket(`shop/items/${item}`, payload, { id, isRetained: true }))
  }
  const socket = new MqttSocket(port, fieldsOf('bench-stock'), {
    connack: () => {
      const startMs = performance.now()
      setInterval(() => {
        // a late timer must not reduce the number of messages
        while (sent < (performance.now() - startMs) / RETAINED_GAP_MS) publish()
      }, RETAINED_GAP_MS)
    },
  })
}

/** Client with a persistent session; messages published while it is offline are queued for it. */
function comeAndGo(number: number): void {
  const socket = new MqttSocket(port, fieldsOf(`bench-regular-${number}`, false), {
    connack: () => {
      socket.write(subscribeAllPacket([`shop/items/${number}`, 'shop/items/+']))
      setTimeout(() => socket.end(DISCONNECT), stayMs())
    },
    publish: (packetId) => {
      if (packetId !== 0) socket.write(acknowledgement(PACKET.puback, packetId))
    },
    closed: () => setTimeout(() => comeAndGo(number), stayMs()),
  })
}

function stayMs(): number {
  return STAY_MIN_MS + Math.random() * STAY_SPREAD_MS
}

const functions = answerCalls({ start })

export type RegularFunctions = typeof functions
