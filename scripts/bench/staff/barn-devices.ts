import { answerCalls } from '#scripts/rig/calls.ts'
import { BARN_PLACE, RESTING_V } from '#scripts/rig/course.ts'
import { type BenchDevice, loginOf } from '#scripts/rig/gateway-api.ts'
import { FLEET, MqttSocket } from '#scripts/rig/load/mqtt-socket.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import { inParallel } from '#shared/in-parallel.ts'
import { acknowledgement, PACKET, publishPacket, subscribeAllPacket } from '#testing/mqtt-packets.ts'

/** Process of devices that stand in the barn, report so and receive commands. */

const CONNECTS_AT_ONCE = 32
const KEEP_ALIVE_S = 600
const LIMIT_MS = 60_000

const sockets = new Map<string, MqttSocket>()
/** Time at which each device received a command since the last `forget`, in ms since 1970. */
const receivedAtMs = new Map<string, number>()
let [packetId, unacknowledged] = [0, 0]

async function connect(port: number, devices: readonly BenchDevice[]): Promise<void> {
  await inParallel(devices, CONNECTS_AT_ONCE, (device) => {
    const { hardwareId } = device
    const { promise: ready, resolve, reject } = Promise.withResolvers<void>()
    const login = { ...loginOf(device), keepaliveS: KEEP_ALIVE_S }
    const handlers = {
      connack: () => socket.write(subscribeAllPacket([`dev/${hardwareId}/cmd`])),
      suback: () => resolve(),
      puback: () => {
        unacknowledged -= 1
      },
      publish: (id: number, payload: string) => {
        if (id !== 0) socket.write(acknowledgement(PACKET.puback, id))
        receive(hardwareId, payload)
      },
      closed: () => reject(new Error(`${hardwareId} was cut off`)),
    }
    const socket = new MqttSocket(port, login, handlers, FLEET)
    // a queued command may arrive together with the CONNACK
    sockets.set(hardwareId, socket)
    return ready
  })
}

/** Notes the time of a command, acknowledges and completes it. */
function receive(hardwareId: string, payload: string): void {
  if (payload.includes('"cmd"') && !receivedAtMs.has(hardwareId)) receivedAtMs.set(hardwareId, Date.now())
  const id = /"id":"([^"]+)"/.exec(payload)?.[1]
  if (id === undefined) return
  for (const st of ['acknowledged', 'completed']) publish(hardwareId, 'ack', { id, st, ts: Date.now() })
}

/** Reports twice for each device that it stands in the barn, unlocked; resolves when all is acknowledged. */
async function report(): Promise<void> {
  const fields = { ...BARN_PLACE, speed: 0, battery_voltage: RESTING_V, lock_status: 0 }
  for (const ageMs of [5000, 0])
    for (const hardwareId of sockets.keys()) publish(hardwareId, 'tlm', { ts: Date.now() - ageMs, ...fields })
  if (!(await waitUntil(() => unacknowledged === 0, LIMIT_MS))) throw new Error('reports were not acknowledged')
}

function publish(hardwareId: string, level: string, message: object): void {
  packetId = (packetId % 60_000) + 1
  unacknowledged += 1
  const packet = publishPacket(`dev/${hardwareId}/${level}`, JSON.stringify(message), { id: packetId })
  sockets.get(hardwareId)?.write(packet)
}

/** Time at which the last of that many devices received a command; null if not all did within the limit. */
async function lastReceivedAtMs(count: number, limitMs: number): Promise<number | null> {
  const isComplete = await waitUntil(() => receivedAtMs.size >= count, limitMs, 5)
  return isComplete ? Math.max(...receivedAtMs.values()) : null
}

const functions = answerCalls({ connect, report, forget: () => receivedAtMs.clear(), lastReceivedAtMs })

export type BarnFunctions = typeof functions
