import { connectPacket, publishPacket, subscribeAllPacket } from '#testing/mqtt-packets.ts'
import type { createPeople, Person } from '../course.ts'
import { type BenchDevice, loginOf } from '../gateway-api.ts'
import { encodeFrame, Opcode, upgradeRequest } from '../websocket.ts'
import { getRequest, searchRequest } from './attack-bytes.ts'
import { type AttackPlan, type Neighbour, NUMBER, planOf } from './attack-plan.ts'

/** Devices, users and sizes of a course that noisy clients use. */
export interface AttackedCourse extends Awaited<ReturnType<typeof createPeople>> {
  /** Cart that floods the gateway with lock events. */
  rogue: BenchDevice
  lockEvents: number
}

/** Row in which good keys are used as well as bad ones. */
export const ROW_OF_GOOD_KEYS = 'bad-keys'
/** Enough of them for a short form of torture; the short form of the benchmark takes the others. */
export const SHORT_NEIGHBOURS: readonly string[] = ['sockets-60', 'subscribers', 'lock-events', ROW_OF_GOOD_KEYS]

/** Lengths in characters: that of the audit's request, and the longest that is searched for. */
const SEARCHES = [15_000, 64]
const METADATA = 'x'.repeat(3900)
const WIDE_FILTERS =
  '# +/# dev/# dev/+/# dev/+/+ +/+/+ +/+/tlm dev/+/tlm dev/+/st +/+/# +/+/evt dev/+/evt +/+/st'.split(' ')

/** Noisy clients of a gateway: findings of the audit of the engine, with the sizes it used. */
export const NEIGHBOURS: readonly Neighbour<AttackedCourse>[] = [
  {
    name: 'sockets-60',
    summary: '60 realtime sockets of one user that lock and subscribe as fast as permitted',
    plan: (course, isShort) => chatter(course, isShort ? 20 : 60),
  },
  {
    name: 'sockets-2000',
    summary: 'the same with 2,000 sockets tried',
    plan: (course, isShort) => ({ ...chatter(course, isShort ? 100 : 2000), opensPerS: 500, reopensPerS: 200 }),
  },
  {
    name: 'subscribers',
    summary: '600 MQTT connections of a user without devices, 13 filters each',
    plan: ({ unrelated }, isShort) => {
      const wide = subscribeAllPacket(WIDE_FILTERS, 0)
      const first = clients(isShort ? 30 : 600, (i) => [login(unrelated, `wide-${i}`, true), wide])
      return planOf({ speaks: 'mqtt', opensPerS: 300, reopensPerS: 50, first })
    },
  },
  {
    name: 'kept-sessions',
    summary: '12,000 kept sessions tried by one viewer of one cart',
    plan: ({ viewer }, isShort) => {
      const subscribe = subscribeAllPacket([`dev/${viewer.hardwareIds[0]}/#`], 1)
      const first = clients(isShort ? 100 : 12_000, (i) => [login(viewer, `kept-${i}`, false), subscribe])
      return planOf({ speaks: 'mqtt', opensPerS: 1000, after: 'leaves once subscribed', first })
    },
  },
  {
    name: 'long-filters',
    summary: 'filters of 60 KB in 20 kept sessions of a user without devices',
    plan: ({ unrelated }, isShort) => {
      const filters = Array.from({ length: 100 }, (_, i) => `${String(i).padStart(3, '0')}/${'f'.repeat(60_000)}`)
      return planOf({
        speaks: 'mqtt',
        opensPerS: 50,
        reopensPerS: 20,
        first: clients(isShort ? 2 : 20, (i) => [login(unrelated, `long-${i}`, false)]),
        next: filters.map((filter) => subscribeAllPacket([filter], 1)),
        nextPerS: isShort ? 20 : 300,
      })
    },
  },
  {
    name: 'deep-lists',
    summary: 'lists of 400,000 lock events, over and over from four connections',
    plan: ({ lockEvents, captain }) => {
      // as deep as there are events, as deep as is allowed, and all of them without a match
      const queries = [`offset=${lockEvents - 2000}`, 'offset=10000', 'source=keypad']
      return asked(queries.map((query) => getRequest(`/lock-events?limit=1000&${query}`, captain)))
    },
  },
  {
    name: 'searches',
    summary: 'searches for 15 KB from four connections',
    plan: ({ captain }) => asked(SEARCHES.map((length) => searchRequest(length, captain))),
  },
  {
    name: 'lock-events',
    summary: '34,000 lock events a second of one cart',
    plan: ({ rogue }, isShort) => {
      const event = `{"eid":"${NUMBER}","event":"lock","source":"key"}`
      const events = Array.from({ length: isShort ? 100 : 900 }, () => event)
      return planOf({
        speaks: 'mqtt',
        opensPerS: 50,
        reopensPerS: 10,
        first: [connectPacket(loginOf(rogue))],
        next: [publishPacket(`dev/${rogue.hardwareId}/evt`, `[${events.join(',')}]`)],
        nextPerS: 38,
      })
    },
  },
  {
    name: 'stalled-downloads',
    summary: '400 downloads of one user that are not read',
    plan: ({ longHistoryPath, captain }, isShort) => {
      const first = [getRequest(longHistoryPath, captain)]
      const rates = { connections: isShort ? 40 : 400, opensPerS: 200, reopensPerS: 20 }
      return planOf({ speaks: 'http', ...rates, after: 'stops reading', first })
    },
  },
  {
    name: 'refused-upgrades',
    summary: '1,000 refused upgrades whose connections the client never closes',
    plan: (_, isShort) => {
      const first = ['/realtime', '/nowhere'].map((path) => upgradeRequest(path))
      const rates = { connections: isShort ? 100 : 1000, opensPerS: 500, reopensPerS: 50 }
      return planOf({ speaks: 'http', ...rates, after: 'never closes its end', first })
    },
  },
  {
    name: ROW_OF_GOOD_KEYS,
    summary: '20 bad keys after a restart, and 20 a minute from then on',
    plan: () => {
      const guesses = clients(20, (i) => [getRequest('/devices', { password: `guess-${i}-0123456789` })])
      const rates = { opensPerS: 100, reopensPerS: 1, nextPerS: 20 / 60 }
      return planOf({ speaks: 'http', ...rates, first: guesses, next: guesses })
    },
  },
]

/** Sockets that alternately request a lock with large metadata, and subscribe to and unsubscribe from 200 devices. */
function chatter({ viewer, captain: { hardwareIds } }: AttackedCourse, connections: number): AttackPlan {
  const lock = { type: 'command', hardwareId: viewer.hardwareIds[0], command: 'lock', metadata: { text: METADATA } }
  const messages = [lock, { type: 'subscribe', hardwareIds }, lock, { type: 'unsubscribe', hardwareIds }]
  return planOf({
    speaks: 'websocket',
    connections,
    opensPerS: 100,
    reopensPerS: 50,
    first: [upgradeRequest('/realtime', { 'X-API-Key': viewer.password })],
    next: messages.map((message) => encodeFrame(Opcode.text, Buffer.from(JSON.stringify(message)))),
    // a socket may send 50 a second
    nextPerS: Math.min(connections, 60) * 35,
  })
}

/** Requests that four connections repeat. */
function asked(requests: readonly Buffer[]): AttackPlan {
  const rates = { connections: 4, opensPerS: 50, reopensPerS: 10, nextPerS: 45 }
  return planOf({ speaks: 'http', ...rates, waitsFor: 'each answer', first: requests, next: requests })
}

function clients(count: number, packets: (i: number) => readonly Buffer[]): Buffer[] {
  return Array.from({ length: count }, (_, i) => Buffer.concat(packets(i)))
}

function login({ username, password }: Person, clientId: string, clean: boolean): Buffer {
  return connectPacket({ clientId, username, password, clean, keepaliveS: 600 })
}
