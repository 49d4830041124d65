import { LoadClient } from '#scripts/rig/load/client.ts'
import { LoadMeter } from '#scripts/rig/load/meter.ts'
import { MqttSocket } from '#scripts/rig/load/mqtt-socket.ts'
import { createSaturatingPace } from '#scripts/rig/load/pace.ts'
import { publishPacket } from '#testing/mqtt-packets.ts'
import { type Count, connectFields, type NeighbourPlan } from './neighbour-plan.ts'

const PACKETS_A_WRITE = 100
const IN_FLIGHT = 1000
const DEVICE_WINDOW = 1000
const RETRY_MS = 100

/** Publishes on a shop topic as fast as the connection accepts it. */
export function publishAtFullSpeed(plan: NeighbourPlan, qos: 0 | 1, count: Count): void {
  const { port, login } = plan
  const fields = connectFields(login, `bench-flood-${qos}`)
  let nextId = 0
  const write = (done: () => void) => {
    const packets = Array.from({ length: PACKETS_A_WRITE }, () => {
      nextId = (nextId % IN_FLIGHT) + 1
      return publishPacket('shop/orders', 'x'.repeat(100), { qos, id: nextId })
    })
    count('writes of 100 messages')
    socket.write(Buffer.concat(packets), done)
  }
  const writeOn = () => write(() => setImmediate(writeOn))
  let acknowledged = 0
  const socket = new MqttSocket(port, fields, {
    connack: () => {
      if (qos === 0) writeOn()
      else for (let i = 0; i < IN_FLIGHT; i += PACKETS_A_WRITE) write(() => undefined)
    },
    puback: () => {
      acknowledged++
      if (acknowledged % PACKETS_A_WRITE === 0) write(() => undefined)
    },
    closed: () => {
      count('cut off')
      setTimeout(() => publishAtFullSpeed(plan, qos, count), RETRY_MS)
    },
  })
}

/** Sends a device's telemetry as fast as it is acknowledged. */
export function floodTelemetry({ port, device }: NeighbourPlan, count: Count): void {
  const client = new LoadClient(
    {
      ...device,
      port,
      asDevice: true,
      window: DEVICE_WINDOW,
      notBeforeMs: 0,
      keepsJournal: false,
    },
    new LoadMeter(),
  )
  const pace = createSaturatingPace([client], DEVICE_WINDOW)
  client.onReady = () => {
    count('connected')
    client.onReady = () => count('connected')
    pace.start()
    const countOne = client.onAcknowledged
    client.onAcknowledged = () => {
      count('acknowledged')
      countOne?.()
    }
  }
  client.connect()
}
