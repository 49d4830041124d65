import type { BenchLogin } from '#scripts/rig/gateway-api.ts'
import { MqttSocket } from '#scripts/rig/load/mqtt-socket.ts'
import { DISCONNECT, publishPacket, subscribeAllPacket } from '#testing/mqtt-packets.ts'
import { connectFields } from './neighbour-plan.ts'

const LIMIT_MS = 30_000
/** Retained messages arrive in sequence; this long after the last one, no more are expected. */
const QUIET_MS = 1000

/** Publishes that many retained messages, each on its own topic; resolves when all are acknowledged. */
export function publishRetained(port: number, login: BenchLogin, count: number): Promise<void> {
  return new Promise((resolve, reject) => {
    if (count === 0) return resolve()
    let left = count
    const timer = setTimeout(() => reject(new Error('retained messages not acknowledged')), LIMIT_MS)
    const socket = new MqttSocket(port, connectFields(login, 'bench-retained'), {
      connack: () => {
        for (let i = 0; i < count; i++) {
          const payload = `{"item":${i},"text":"${'x'.repeat(80)}"}`
          const topic = `shop/items/${i}`
          socket.write(publishPacket(topic, payload, { id: i + 1, isRetained: true }))
        }
      },
      puback: () => {
        left--
        if (left > 0) return
        clearTimeout(timer)
        socket.end(DISCONNECT)
        resolve()
      },
    })
  })
}

/** Number of retained messages below a filter with exactly that payload. */
export function countRetained(port: number, login: BenchLogin, filter: string, payload: string): Promise<number> {
  return new Promise((resolve) => {
    let count = 0
    const socket = new MqttSocket(port, connectFields(login, 'bench-count'), {
      connack: () => socket.write(subscribeAllPacket([filter], 0)),
      suback: () => quiet.refresh(),
      publish: (_packetId, received) => {
        if (received === payload) count++
        quiet.refresh()
      },
    })
    const quiet = setTimeout(() => {
      socket.end(DISCONNECT)
      resolve(count)
    }, QUIET_MS)
  })
}
