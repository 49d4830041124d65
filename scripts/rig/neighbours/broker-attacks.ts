import { connectPacket, publishPacket, subscribeAllPacket } from '#testing/mqtt-packets.ts'
import { type BenchDevice, type BenchLogin, loginOf } from '../gateway-api.ts'
import { type AttackPlan, FULL_SPEED, type Neighbour, NUMBER, planOf } from './attack-plan.ts'

/** Logins of the noisy clients of a broker. */
export interface AttackedBroker {
  /** Admin, by API key. */
  admin: BenchLogin
  /** Device that no other client uses. */
  device: BenchDevice
}

/** Row of passwords that are guessed. */
export const GUESSES = 'wrong-passwords'

const IN_FLIGHT = 1000
const PACKETS_A_WRITE = 100
const AGAIN = { opensPerS: 100, reopensPerS: 10 }

/** Clients that a fleet may share its broker with. */
export const BROKER_NEIGHBOURS: readonly Neighbour<AttackedBroker>[] = [
  {
    name: 'stalled-reader',
    summary: 'subscribes to all telemetry and a busy topic, does not read, and reconnects every two seconds',
    plan: ({ admin }) => {
      const subscribe = subscribeAllPacket(['dev/#', 'shop/busy'])
      const stalled = Buffer.concat([login(admin, 'bench-stalled'), subscribe])
      const busy = copies(20, () => publishPacket('shop/busy', 'x'.repeat(500), { qos: 0 }))
      const feeder = { speaks: 'mqtt', opensPerS: 100, first: [login(admin, 'bench-feeder')] } as const
      return planOf({
        speaks: 'mqtt',
        opensPerS: 100,
        churnPerS: 0.5,
        after: 'stops reading',
        first: [stalled],
        beside: planOf({ ...feeder, next: [busy], nextPerS: 50 }),
      })
    },
  },
  {
    name: 'wide-subscriber',
    summary: 'subscribes to everything, many times over, and reads it',
    plan: ({ admin }) => {
      const narrow = Array.from({ length: 100 }, (_, i) => `+/bench-${String(i).padStart(5, '0')}/#`)
      const first = [Buffer.concat([login(admin, 'bench-wide'), subscribeAllPacket(['#', ...narrow], 0)])]
      return planOf({ speaks: 'mqtt', opensPerS: 100, first })
    },
  },
  {
    name: 'publisher-qos0',
    summary: 'publishes on a topic of the shop as fast as the connection accepts it',
    plan: ({ admin }) => publisher(admin, 0),
  },
  {
    name: 'publisher-qos1',
    summary: 'the same with 1,000 messages in flight',
    plan: ({ admin }) => ({ ...publisher(admin, 1), window: { size: IN_FLIGHT, ofOne: PACKETS_A_WRITE } }),
  },
  {
    name: 'flooding-device',
    summary: 'sends the telemetry of a device as fast as it is acknowledged',
    plan: ({ device }) => {
      const { hardwareId } = device
      const will = { topic: `dev/${hardwareId}/st`, payload: '{"online":false}' }
      const session = { ...loginOf(device), clean: false, keepaliveS: 120, will }
      const filters = ['cmd', 'cfg', 'ta'].map((leaf) => `dev/${hardwareId}/${leaf}`)
      return planOf({
        speaks: 'mqtt',
        ...AGAIN,
        first: [Buffer.concat([connectPacket(session), subscribeAllPacket(filters)])],
        next: [0, IN_FLIGHT / 2].map((from) => copies(IN_FLIGHT / 2, (i) => telemetry(hardwareId, from + i))),
        nextPerS: FULL_SPEED,
        window: { size: IN_FLIGHT, ofOne: IN_FLIGHT / 2 },
      })
    },
  },
  {
    name: 'half-open',
    summary: '2,000 connections that send nothing, or half a CONNECT',
    plan: ({ device }) => {
      const connect = connectPacket(loginOf(device))
      const first = [Buffer.alloc(0), connect.subarray(0, connect.length / 2)]
      return planOf({ speaks: 'mqtt', connections: 2000, opensPerS: 1000, reopensPerS: 1000, first })
    },
  },
  {
    name: GUESSES,
    summary: 'guesses passwords on 50 connections, alternately of a device and of a user',
    plan: ({ admin, device }) => {
      const first = [device.hardwareId, admin.username].map((username) =>
        connectPacket({ clientId: username, username, password: `guess-${NUMBER}-0123456789abcdef` }),
      )
      return planOf({ speaks: 'mqtt', connections: 50, opensPerS: 1000, reopensPerS: FULL_SPEED, first })
    },
  },
]

function publisher(admin: BenchLogin, qos: 0 | 1): AttackPlan {
  const messages = Array.from({ length: IN_FLIGHT / PACKETS_A_WRITE }, (_, n) =>
    copies(PACKETS_A_WRITE, (i) =>
      publishPacket('shop/orders', 'x'.repeat(100), { qos, id: n * PACKETS_A_WRITE + i + 1 }),
    ),
  )
  const first = [login(admin, `bench-flood-${qos}`)]
  return planOf({ speaks: 'mqtt', ...AGAIN, first, next: messages, nextPerS: FULL_SPEED })
}

/** Message of a device that drives; each has another time and place. */
function telemetry(hardwareId: string, i: number): Buffer {
  const place = String(i).padStart(4, '0')
  const time = `${String(Date.now()).slice(0, -NUMBER.length)}${NUMBER}`
  const fields = `"lat":36.568${place},"long":-121.948${place},"speed":1${i % 10}.5,"battery_voltage":51.27`
  return publishPacket(`dev/${hardwareId}/tlm`, `{"ts":${time},${fields},"lock_status":1}`, { id: i + 1 })
}

function copies(count: number, packet: (i: number) => Buffer): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, i) => packet(i)))
}

function login(admin: BenchLogin, clientId: string): Buffer {
  return connectPacket({ clientId, ...admin, keepaliveS: 600 })
}
