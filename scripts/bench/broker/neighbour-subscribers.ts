import { MqttSocket } from '#scripts/rig/load/mqtt-socket.ts'
import { publishPacket, subscribeAllPacket } from '#testing/mqtt-packets.ts'
import { type Count, connectFields, type NeighbourPlan } from './neighbour-plan.ts'

const FEED_GAP_MS = 20
const FEED_AT_ONCE = 20
const FEED_BYTES = 500
/** Time before a stalled subscriber reconnects: as it does not read, it does not notice that it was closed. */
const STALL_MS = 2000
const WIDE_FILTERS = 100

/** Subscribes to all telemetry and a busy topic, then stops reading; a second client keeps that topic busy. */
export function stallReader(plan: NeighbourPlan, count: Count): void {
  feed(plan)
  const stall = () => {
    const socket = new MqttSocket(plan.port, connectFields(plan.login, 'bench-stalled'), {
      connack: () => socket.write(subscribeAllPacket(['dev/#', 'shop/busy'])),
      suback: () => {
        socket.pause()
        count('stalled')
        setTimeout(() => {
          socket.cut()
          stall()
        }, STALL_MS)
      },
    })
  }
  stall()
}

/** Subscribes to everything, many times over, and reads it. */
export function subscribeToEverything(plan: NeighbourPlan, count: Count): void {
  const narrow = Array.from({ length: WIDE_FILTERS }, (_, i) => `+/bench-${String(i).padStart(5, '0')}/#`)
  const socket = new MqttSocket(plan.port, connectFields(plan.login, 'bench-wide'), {
    connack: () => socket.write(subscribeAllPacket(['#', ...narrow], 0)),
    suback: (returnCodes) => {
      for (const code of returnCodes) count(code < 0x80 ? 'subscribed' : 'refused')
    },
    publish: () => count('received'),
  })
}

function feed(plan: NeighbourPlan): void {
  const message = publishPacket('shop/busy', 'x'.repeat(FEED_BYTES), { qos: 0 })
  const messages = Buffer.concat(Array.from({ length: FEED_AT_ONCE }, () => message))
  const socket = new MqttSocket(plan.port, connectFields(plan.login, 'bench-feeder'), {
    connack: () => setInterval(() => socket.write(messages), FEED_GAP_MS),
  })
}
