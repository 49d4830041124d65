import { MqttSocket } from '#scripts/rig/load/mqtt-socket.ts'
import { acknowledgement, DISCONNECT, PACKET, publishPacket, subscribeAllPacket } from '#testing/mqtt-packets.ts'
import { type Count, connectFields, type NeighbourPlan } from './neighbour-plan.ts'

const RETAINED_TOPICS = 500
const RETAINED_GAP_MS = 20
const SUBSCRIBERS = 20
const STAY_MIN_MS = 3000
const STAY_SPREAD_MS = 12_000

/** Runs the usual programs: one reads all telemetry, one refreshes 500 retained topics, 20 come and go. */
export function workAsUsual(plan: NeighbourPlan, count: Count): void {
  watchTelemetry(plan, count)
  publishStock(plan, count)
  for (let i = 0; i < SUBSCRIBERS; i++) comeAndGo(plan, i, count)
}

function watchTelemetry(plan: NeighbourPlan, count: Count): void {
  const socket = new MqttSocket(plan.port, connectFields(plan.login, 'bench-watcher'), {
    connack: () => socket.write(subscribeAllPacket(['dev/#'], 0)),
    publish: () => count('telemetry received'),
  })
}

function publishStock(plan: NeighbourPlan, count: Count): void {
  let sent = 0
  let startMs = 0
  const publish = () => {
    const item = sent++ % RETAINED_TOPICS
    const payload = `{"item":${item},"stock":${sent},"text":"${'x'.repeat(80)}"}`
    const topic = `shop/items/${item}`
    const id = (sent % 60_000) + 1
    socket.write(publishPacket(topic, payload, { id, isRetained: true }))
  }
  const publishDue = () => {
    // a late timer must not reduce the number of messages
    while (sent < (performance.now() - startMs) / RETAINED_GAP_MS) publish()
  }
  const socket = new MqttSocket(plan.port, connectFields(plan.login, 'bench-stock'), {
    connack: () => {
      startMs = performance.now()
      setInterval(publishDue, RETAINED_GAP_MS)
    },
    puback: () => count('stock acknowledged'),
  })
}

/** Client with a persistent session; messages published while it is offline are queued for it. */
function comeAndGo(plan: NeighbourPlan, number: number, count: Count): void {
  const socket = new MqttSocket(plan.port, connectFields(plan.login, `bench-regular-${number}`, false), {
    connack: () => {
      count('came')
      socket.write(subscribeAllPacket([`shop/items/${number}`, 'shop/items/+']))
      setTimeout(() => socket.end(DISCONNECT), stayMs())
    },
    publish: (packetId) => {
      count('stock received')
      if (packetId !== 0) socket.write(acknowledgement(PACKET.puback, packetId))
    },
    closed: () => setTimeout(() => comeAndGo(plan, number, count), stayMs()),
  })
}

function stayMs(): number {
  return STAY_MIN_MS + Math.random() * STAY_SPREAD_MS
}
