import { connectPacket, publishPacket, subscribeAllPacket } from '#testing/mqtt-packets.ts'
import type { BenchDevice, BenchLogin } from '../gateway-api.ts'
import { getRequest, searchRequest, upgradeRequest, webSocketFrame } from './attack-bytes.ts'
import { type AttackPlan, planOf } from './attack-plan.ts'

/** User who is not an admin. */
export interface Person extends BenchLogin {
  /** Devices visible to the user. */
  hardwareIds: string[]
}

/** Devices, users and sizes of a course that noisy clients use. */
export interface AttackedCourse {
  /** Cart that floods the gateway with lock events. */
  rogue: BenchDevice
  /** Sees one cart of the fleet. */
  viewer: Person
  /** Sees no cart. */
  unrelated: Person
  /** Sees the fleet. */
  captain: Person
  lockEvents: number
  /** Path of a history too long for the buffers of any connection. */
  longHistoryPath: string
}

/** Placeholder for a number that differs in each message. */
const NUMBER = '0000000000'
/** Row in which good keys are used as well as bad ones. */
export const ROW_OF_GOOD_KEYS = 'bad-keys'
/** Enough of them for a short form of torture; the short form of the benchmark takes the others. */
export const SHORT_NEIGHBOURS: readonly string[] = ['sockets-60', 'subscribers', 'lock-events', ROW_OF_GOOD_KEYS]
/** Lengths in characters: that of the audit's request, and the longest that is searched for. */
const LONG_SEARCH = 15_000
const LONGEST_SEARCH = 64
const METADATA = 'x'.repeat(3900)

/** Kind of noisy client of a gateway. */
export interface Neighbour {
  name: string
  summary: string
  plan(course: AttackedCourse, ports: { http: number; mqtt: number }, isShort: boolean): AttackPlan
}

type Plan = Neighbour['plan']

function neighbour(name: string, summary: string, plan: Plan): Neighbour {
  return { name, summary, plan }
}

/** Noisy clients of a gateway: findings of the audit of the engine, with the sizes it used. */
export const NEIGHBOURS: readonly Neighbour[] = [
  neighbour(
    'sockets-60',
    '60 realtime sockets of one user that lock and subscribe as fast as permitted',
    (course, ports, isShort) => chatter(course, ports.http, isShort ? 20 : 60),
  ),
  neighbour('sockets-2000', 'the same with 2,000 sockets tried', (course, ports, isShort) => ({
    ...chatter(course, ports.http, isShort ? 100 : 2000),
    opensPerS: 500,
    reopensPerS: 200,
  })),
  neighbour(
    'subscribers',
    '600 MQTT connections of a user without devices, 13 filters each',
    ({ unrelated }, { mqtt }, isShort) =>
      planOf({
        port: mqtt,
        speaks: 'mqtt',
        connections: isShort ? 30 : 600,
        opensPerS: 300,
        reopensPerS: 50,
        first: clients(isShort ? 30 : 600, (i) => [
          login(unrelated, `wide-${i}`, true),
          subscribeAllPacket(WIDE_FILTERS, 0),
        ]),
      }),
  ),
  neighbour('kept-sessions', '12,000 kept sessions tried by one viewer of one cart', ({ viewer }, { mqtt }, isShort) =>
    planOf({
      port: mqtt,
      speaks: 'mqtt',
      connections: isShort ? 100 : 12_000,
      opensPerS: 1000,
      after: 'leaves once subscribed',
      first: clients(isShort ? 100 : 12_000, (i) => [
        login(viewer, `kept-${i}`, false),
        subscribeAllPacket([`dev/${viewer.hardwareIds[0]}/#`], 1),
      ]),
    }),
  ),
  neighbour(
    'long-filters',
    'filters of 60 KB in 20 kept sessions of a user without devices',
    ({ unrelated }, { mqtt }, isShort) =>
      planOf({
        port: mqtt,
        speaks: 'mqtt',
        connections: isShort ? 2 : 20,
        opensPerS: 50,
        reopensPerS: 20,
        first: clients(20, (i) => [login(unrelated, `long-${i}`, false)]),
        next: Array.from({ length: 100 }, (_, i) =>
          subscribeAllPacket([`${String(i).padStart(3, '0')}/${'f'.repeat(60_000)}`], 1),
        ),
        nextPerS: isShort ? 20 : 300,
      }),
  ),
  neighbour('deep-lists', 'lists of 400,000 lock events, over and over from four connections', (course, { http }) =>
    planOf({
      port: http,
      speaks: 'http',
      connections: 4,
      opensPerS: 50,
      reopensPerS: 10,
      waitsFor: 'each answer',
      nextPerS: 45,
      ...asked(
        // as deep as there are events, as deep as is allowed, and all of them without a match
        [`offset=${course.lockEvents - 2000}`, 'offset=10000', 'source=keypad'].map((query) =>
          getRequest(`/lock-events?limit=1000&${query}`, course.captain),
        ),
      ),
    }),
  ),
  neighbour('searches', 'searches for 15 KB from four connections', (course, { http }) =>
    planOf({
      port: http,
      speaks: 'http',
      connections: 4,
      opensPerS: 50,
      reopensPerS: 10,
      waitsFor: 'each answer',
      nextPerS: 45,
      ...asked([LONG_SEARCH, LONGEST_SEARCH].map((length) => searchRequest(length, course.captain))),
    }),
  ),
  neighbour('lock-events', '34,000 lock events a second of one cart', ({ rogue }, { mqtt }, isShort) => {
    const message = eventsMessage(rogue.hardwareId, isShort ? 100 : 900)
    const { hardwareId: username, password } = rogue
    return planOf({
      port: mqtt,
      speaks: 'mqtt',
      connections: 1,
      opensPerS: 50,
      reopensPerS: 10,
      first: [connectPacket({ clientId: username, username, password })],
      next: [message],
      nextPerS: 38,
      numbersAt: placesOf(message, NUMBER),
    })
  }),
  neighbour('stalled-downloads', '400 downloads of one user that are not read', (course, { http }, isShort) =>
    planOf({
      port: http,
      speaks: 'http',
      connections: isShort ? 40 : 400,
      opensPerS: 200,
      reopensPerS: 20,
      after: 'stops reading',
      first: [getRequest(course.longHistoryPath, course.captain)],
    }),
  ),
  neighbour(
    'refused-upgrades',
    '1,000 refused upgrades whose connections the client never closes',
    (_, { http }, isShort) =>
      planOf({
        port: http,
        speaks: 'http',
        connections: isShort ? 100 : 1000,
        opensPerS: 500,
        reopensPerS: 50,
        after: 'never closes its end',
        first: ['/realtime', '/nowhere'].map((path) => upgradeRequest(path)),
      }),
  ),
  neighbour(ROW_OF_GOOD_KEYS, '20 bad keys after a restart, and 20 a minute from then on', (_, { http }) => {
    const guesses = Array.from({ length: 20 }, (_, i) => getRequest('/devices', { password: `guess-${i}-0123456789` }))
    return planOf({
      port: http,
      speaks: 'http',
      connections: 20,
      opensPerS: 100,
      reopensPerS: 1,
      first: guesses,
      next: guesses,
      nextPerS: 20 / 60,
    })
  }),
]

const WIDE_FILTERS = [
  '#',
  '+/#',
  'dev/#',
  'dev/+/#',
  'dev/+/+',
  '+/+/+',
  '+/+/tlm',
  'dev/+/tlm',
  'dev/+/st',
  '+/+/#',
  '+/+/evt',
  'dev/+/evt',
  '+/+/st',
]

/** Sockets that alternately request a lock with large metadata, and subscribe to and unsubscribe from 200 devices. */
function chatter(course: AttackedCourse, port: number, connections: number): AttackPlan {
  const { viewer, captain } = course
  const hardwareIds = captain.hardwareIds
  const messages = [
    { type: 'command', hardwareId: viewer.hardwareIds[0], command: 'lock', metadata: { text: METADATA } },
    { type: 'subscribe', hardwareIds },
    { type: 'command', hardwareId: viewer.hardwareIds[0], command: 'lock', metadata: { text: METADATA } },
    { type: 'unsubscribe', hardwareIds },
  ]
  return planOf({
    port,
    speaks: 'websocket',
    connections,
    opensPerS: 100,
    reopensPerS: 50,
    first: [upgradeRequest('/realtime', viewer)],
    next: messages.map((message) => webSocketFrame(JSON.stringify(message))),
    // a socket may send 50 a second
    nextPerS: Math.min(connections, 60) * 35,
  })
}

function clients(count: number, packets: (i: number) => readonly Buffer[]): Buffer[] {
  return Array.from({ length: count }, (_, i) => Buffer.concat(packets(i)))
}

function login({ username, password }: Person, clientId: string, clean: boolean): Buffer {
  return connectPacket({ clientId, username, password, clean, keepaliveS: 600 })
}

function asked(requests: readonly Buffer[]): Pick<AttackPlan, 'first' | 'next'> {
  return { first: requests, next: requests }
}

function eventsMessage(hardwareId: string, events: number): Buffer {
  const event = `{"eid":"${NUMBER}","event":"lock","source":"key"}`
  return publishPacket(`dev/${hardwareId}/evt`, `[${Array.from({ length: events }, () => event).join(',')}]`)
}

function placesOf(bytes: Buffer, text: string): number[] {
  const places: number[] = []
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + text.length)) places.push(at)
  return places
}
