import { SessionClient } from '#scripts/rig/session-client.ts'
import type { Bottle, Check, Finding } from '../bottle.ts'
import type { Existence, Mortal } from '../model/mortal.ts'
import type { Board, Login, ProgramClient, Publisher, Subscriber, Topic } from '../model/programs.ts'
import type { Line } from '../world/lines.ts'
import { Program } from '../world/program.ts'
import { running } from '../world/virtual-time.ts'

/** Time after its acknowledgement at which a message has reached everyone who is connected. */
const SETTLED_MS = 10_000
const STEADY_MS = 60_000
/** Messages that may wait for one client, less some that were made and not queued yet. */
const QUEUE = 990
/** Time after which a broker knows of a line that is cut: one and a half keepalives. */
const CUT_MS = 190_000
const WILL_MS = 90_000
/** Time around a kill in which the broker may not have stored a goodbye. */
const KILL_MS = 10_000
const REMEMBERED_MS = 2 * 86_400_000

/** The programs on the broker, as their part has them. */
export interface Programs {
  readonly bottle: Bottle
  readonly login: Login
  readonly publishers: readonly Publisher[]
  readonly subscribers: readonly Subscriber[]
  readonly mortals: readonly Mortal[]
  /** Reads the wills. */
  readonly heir: ProgramClient | undefined
  /** Wills that came and are of no connection. */
  readonly strangeWills: string[]
  readonly clients: readonly ProgramClient[]
  readonly board: Board | undefined
  /** Devices that were removed. */
  readonly returned: string[]
  linesOf(one: Pick<ProgramClient, 'program'>): Line[]
}

/** Check of the messages to programs. */
export function deliveryCheck(programs: Programs): Check {
  return {
    number: 8,
    claim: 'QoS 2 reaches programs exactly once and QoS 1 at least once, in order',
    when: 'look',
    find: ({ time }) => {
      const found: Finding[] = []
      for (const one of programs.subscribers) {
        for (const fault of one.faults.splice(0))
          found.push({ subject: one.name, is: fault, expected: 'once, in order' })
        if (!isSteady(programs, one)) continue
        const missing = programs.publishers.flatMap(({ topics }) =>
          topics.flatMap((topic) => missingOf(one, topic, programs).map((n) => `${topic.name} ${n}`)),
        )
        if (missing.length > 0)
          found.push({
            subject: one.name,
            is: `not received: ${missing.slice(0, 10).join(', ')}`,
            expected: 'received',
          })
      }
      for (const one of programs.publishers) {
        const stuck = one.topics
          .flatMap(({ messages }) => [...messages.values()])
          .find((message) => {
            return message.acknowledgedAtMs === null && message.madeAtMs < time.nowMs - STEADY_MS
          })
        if (stuck !== undefined && isSteady(programs, one))
          found.push({ subject: one.name, is: `${stuck.n} is not acknowledged`, expected: 'within a minute' })
      }
      for (const { client, name } of programs.clients)
        if (client.lostSessions > 0) found.push({ subject: name, is: 'its session was forgotten', expected: 'kept' })
      for (const one of [...programs.publishers, ...programs.subscribers]) one.forgetOld()
      return found
    },
  }
}

/** True if a program has been connected for a minute on a line that was not cut. */
function isSteady(programs: Programs, one: Pick<Subscriber, 'readySinceMs' | 'program'>): boolean {
  const { bottle } = programs
  const sinceMs = bottle.time.nowMs - STEADY_MS
  return (
    bottle.life.isRunning &&
    one.readySinceMs !== null &&
    one.readySinceMs <= sinceMs &&
    programs.linesOf(one).every(({ cutAtMs, changedAtMs }) => cutAtMs === null && changedAtMs <= sinceMs)
  )
}

/** Numbers of the acknowledged messages that a subscriber must have and has not. */
function missingOf(one: Subscriber, topic: Topic, { bottle, publishers }: Programs): number[] {
  const qos = one.qosOf(topic)
  if (qos === undefined) return []
  const readyMs = one.readySinceMs ?? Number.POSITIVE_INFINITY
  const isQueued = one.isKept && qos > 0
  const fromMs = isQueued ? one.firstAtMs : readyMs
  return [...topic.messages.values()]
    .filter(
      ({ n, madeAtMs, acknowledgedAtMs }) =>
        madeAtMs > fromMs &&
        acknowledgedAtMs !== null &&
        acknowledgedAtMs < bottle.time.nowMs - SETTLED_MS &&
        !one.has(topic, n),
    )
    .filter(({ n, order, madeAtMs }) => {
      if (!isQueued || madeAtMs > readyMs) return true
      // those of its publisher follow in their order; others were sent at any time until their acknowledgement
      const later = publishers.map(({ topics }) => {
        const isOwn = topics.includes(topic)
        const queued = topics.filter((other) => (one.qosOf(other) ?? 0) > 0)
        return queued.flatMap(({ qos, messages }) =>
          [...messages.values()]
            .filter((other) => {
              const isLater = isOwn ? other.order > order : (other.acknowledgedAtMs ?? readyMs) >= madeAtMs
              return isLater && other.madeAtMs <= readyMs
            })
            // each time that it is sent, QoS 1 is queued again
            .map(({ repeats }) => (qos === 1 ? 1 + repeats : 1)),
        )
      })
      if (later.flat().reduce((sum, count) => sum + count, 0) < QUEUE) return true
      one.drop(topic, n)
      return false
    })
    .map(({ n }) => n)
}

/** Check of retained messages and last wills. */
export function stateCheck(programs: Programs): Check {
  return {
    number: 9,
    claim: 'a retained message is the last one, and a will comes after a death, once',
    when: 'look',
    async find(bottle) {
      const found = await compareRetained(programs)
      for (const will of programs.strangeWills.splice(0)) found.push({ is: `will ${will}`, expected: 'no such will' })
      for (const mortal of programs.mortals) {
        for (const existence of mortal.existences) {
          const fault = faultOf(existence, mortal, programs)
          if (fault !== null) found.push({ subject: mortal.id, ...fault })
        }
        const isOld = ({ state, endedAtMs }: Existence) =>
          state !== 'alive' && state !== 'connecting' && endedAtMs < bottle.time.nowMs - REMEMBERED_MS
        for (let first = mortal.existences[0]; first !== undefined && isOld(first); first = mortal.existences[0])
          mortal.existences.shift()
      }
      return found
    },
  }
}

/** Check of the messages of devices to a program of a user who may not read all of them. */
export function boardCheck(programs: Programs): Check {
  return {
    number: 57,
    claim: 'a program receives what its devices send, and nothing that its user may not read',
    when: 'look',
    find: ({ time }) => {
      const { board } = programs
      if (board === undefined) return []
      const found: Finding[] = board.faults.splice(0).map((is) => ({ subject: board.name, is, expected: 'not sent' }))
      if (!isSteady(programs, board)) return found
      for (const { hardwareId: subject, last } of board.carts) {
        const sentMs = last?.atMs ?? 0
        const isDue = sentMs > (board.readySinceMs ?? 0) && (last?.heardMs ?? 0) < time.nowMs - SETTLED_MS
        const newestMs = board.newestMs.get(subject) ?? 0
        if (isDue && newestMs < sentMs)
          found.push({
            subject,
            is: `its newest sample of ${new Date(sentMs).toISOString()} not sent`,
            expected: 'sent',
          })
      }
      return found
    },
  }
}

/** Check that nothing of a device stays that was removed. */
export function lentCheck(programs: Programs): Check {
  return {
    number: 58,
    claim: 'a removed device is in no list, and none of its messages comes any more',
    when: 'look',
    async find(bottle) {
      const found: Finding[] = []
      for (const subject of programs.returned.splice(0)) {
        const answer = await bottle.ask('GET', `/devices/${subject}`)
        const retained = await readRetained(programs, [`dev/${subject}/#`])
        if (answer === null || retained === null) programs.returned.push(subject)
        else if (answer.status !== 404) found.push({ subject, is: `${answer.status}`, expected: '404' })
        else if (retained.size > 0) found.push({ subject, is: [...retained.keys()].join(), expected: 'no messages' })
      }
      return found
    },
  }
}

function faultOf(existence: Existence, { id }: Mortal, programs: Programs): Finding | null {
  const { will, state, endedAtMs, wasCut, arrivals } = existence
  const { time, life, kills, unsaved, restores } = programs.bottle
  // a copy of the data folder knows nothing of its connection, or not of its end
  if (restores.some(({ fromMs, toMs }) => endedAtMs > fromMs - KILL_MS && endedAtMs < toMs + KILL_MS)) return null
  const subject = id
  const [first, again] = arrivals
  // a will of an earlier life has QoS 1
  if (first !== undefined && again !== undefined && first.connection === again.connection)
    return { subject, is: `will ${will} twice`, expected: 'once' }
  if (state === 'alive' && first !== undefined && first.atMs < time.nowMs - SETTLED_MS)
    return { subject, is: `will ${will} of a client that is connected`, expected: 'no will' }
  const isNearKill = [...kills, ...unsaved].some((killMs) => Math.abs(killMs - endedAtMs) < KILL_MS)
  if (state === 'left' && first !== undefined && !isNearKill)
    return { subject, is: `will ${will} of a client that left politely`, expected: 'no will' }
  if (state !== 'dead' || first !== undefined || programs.heir === undefined || !isSteady(programs, programs.heir))
    return null
  const knownMs = Math.max(endedAtMs + (wasCut ? CUT_MS : 0), life.startedAtMs)
  if (time.nowMs < knownMs + WILL_MS) return null
  return {
    subject,
    is: `no will ${will}, ${Math.round((time.nowMs - knownMs) / 1000)} s after it died`,
    expected: 'a will',
  }
}

/** Subscribes as a new client, and compares the retained messages. */
async function compareRetained(programs: Programs): Promise<Finding[]> {
  const topics = programs.publishers.flatMap((publisher) => publisher.topics).filter(({ isRetained }) => isRetained)
  const lasts = topics.map(({ messages }) => [...messages.values()].findLast((one) => one.acknowledgedAtMs !== null))
  const restoredMs = Math.max(...programs.bottle.restores.map(({ toMs }) => toMs))
  const got = await readRetained(programs, ['state/#'])
  if (got === null) return []
  return topics.flatMap((topic, i) => {
    const { name, newest } = topic
    const last = lasts[i]
    const oldest = last?.n ?? 0
    // a copy of the data folder has an earlier one
    if (last !== undefined && last.madeAtMs < restoredMs) return []
    // others may have been published while they were read
    const possible = Array.from({ length: newest - oldest + 1 }, (_, more) => {
      const n = oldest + more
      return n === 0 ? undefined : topic.payloadOf(n) || undefined
    })
    // an empty message that comes again means that none is retained
    const is = got.get(name) || undefined
    const brief = (payload: string | undefined) => `retained: ${payload?.slice(0, 20) ?? 'nothing'}`
    return possible.includes(is) ? [] : [{ subject: name, is: brief(is), expected: brief(possible[0]) }]
  })
}

let asked = 0

/** First message of each topic that a new client receives; null if it could not connect. */
export async function readRetained(
  { bottle, login }: { bottle: Bottle; login: Login },
  filters: readonly string[],
): Promise<Map<string, string> | null> {
  if (!bottle.life.isRunning) return null
  asked += 1
  const subscriptions = Object.fromEntries(filters.map((filter) => [filter, 1 as const]))
  const client = new SessionClient({ ...login, clientId: `asker-${asked}`, isPersistent: false, subscriptions })
  const got = new Map<string, string>()
  client.onDelivery = ({ topic, payload }) => {
    if (!got.has(topic)) got.set(topic, payload)
  }
  let isReady = false
  client.onReady = () => {
    isReady = true
  }
  const program = new Program(`asker ${asked}`)
  running.run(program, () => client.goOnline())
  await bottle.time.runUntil(bottle.time.nowMs + 5_000, () => isReady)
  const { starts } = bottle.life
  if (isReady) await bottle.time.runUntil(bottle.time.nowMs + 2_000)
  running.run(program, () => client.goOffline('politely'))
  return isReady && bottle.life.isRunning && starts === bottle.life.starts ? got : null
}
