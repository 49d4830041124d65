import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createRandom, type Random } from '#shared/random.ts'
import type { Bottle, Check, Finding, Part } from '../bottle.ts'
import type { Entry, ReceiverMode } from '../plan.ts'
import { Program } from '../world/program.ts'
import { running } from '../world/virtual-time.ts'

const FIRST_PORT = 9_001
/** Kinds that each receiver wants; null for all. */
const WANTED: readonly (readonly string[] | null)[] = [null, null, null, ['outside', 'silent_on_course'], null]
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** Time of an attempt, after which it is given up. */
const ATTEMPT_MS = 15_000
/** Time after a kill in which the gateway may not have stored that a message was delivered. */
const KILL_MS = 10_000
/** First and longest pause after a failure, a fifth less, and the factor between two. */
const PAUSES = {
  refuse: { firstMs: 800, factor: 2, longestMs: 480_000 },
  unknown: { firstMs: 48_000, factor: 4, longestMs: 17_280_000 },
}

/** Delivery of one event of an alert to a receiver. */
interface Receipt {
  readonly deliveryId: string
  answeredAtMs: number | null
}

/** Failures of the messages about one alert, since a start of the gateway. */
interface Failures {
  readonly life: number
  count: number
  atMs: number
  how: keyof typeof PAUSES
}

/** Program of another vendor that receives alerts. */
class Receiver {
  readonly program: Program
  readonly port: number
  readonly kinds: readonly string[] | null
  webhookId = ''
  secret = ''
  mode: ReceiverMode | 'answer' = 'answer'
  /** Times since which it answers, and at which it last did not, by what it did instead. */
  answersSinceMs = 0
  readonly badAtMs = new Map<string, number>()
  /** Number of its last mode. */
  turn = 0
  readonly receipts = new Map<string, Receipt>()
  /** Tests that an admin has asked for. */
  readonly tests: { readonly key: string; readonly atMs: number }[] = []
  readonly failures = new Map<string, Failures>()
  readonly server: Server

  constructor(number: number, take: (request: IncomingMessage, response: ServerResponse) => void) {
    this.program = new Program(`receiver-${number}`)
    this.port = FIRST_PORT + number
    this.kinds = WANTED[number] ?? null
    this.server = running.run(this.program, () => createServer(take))
  }

  listen(): void {
    running.run(this.program, () => this.server.listen({ port: this.port }))
  }
}

interface ShownAlert {
  readonly alert_id: string
  readonly kind: string
  readonly opened_at: string
  readonly acknowledged_at: string | null
  readonly closed_at: string | null
}

/** Receivers of webhooks, which answer, refuse, hang or are away. */
export class Receivers implements Part {
  readonly checks: readonly Check[]
  readonly #bottle: Bottle
  readonly #receivers: Receiver[] = []
  readonly #faults: Finding[] = []
  readonly #random: Random
  #sinceMs = 0

  constructor(bottle: Bottle) {
    this.#bottle = bottle
    this.#random = createRandom(bottle.plan.seed, 'receivers')
    bottle.explained.push(/notification delivery failed/, /dropped messages: too old/)
    this.checks = [
      {
        number: 32,
        claim: 'each webhook that was there receives each alert once and in order; one that was not, for a day',
        when: 'look',
        find: () => this.#compare(),
      },
    ]
  }

  async setUp(): Promise<void> {
    for (const number of WANTED.keys()) {
      const receiver: Receiver = new Receiver(number, (request, response) => this.#take(receiver, request, response))
      receiver.listen()
      const url = `http://127.0.0.1:${receiver.port}/alerts`
      const body = receiver.kinds === null ? { url } : { url, kinds: receiver.kinds }
      const { webhook, secret } = await this.#bottle.set('POST', '/webhooks', body)
      receiver.webhookId = webhook.webhook_id
      receiver.secret = secret
      this.#receivers.push(receiver)
    }
    this.#sinceMs = this.#bottle.time.nowMs
  }

  async perform(entry: Entry): Promise<void> {
    const receiver = entry.kind === 'receiver' ? this.#receivers[entry.receiver] : undefined
    if (entry.kind !== 'receiver' || receiver === undefined) return
    this.#fail(receiver, entry.mode, entry.forMs)
    const { nowMs: atMs } = this.#bottle.time
    const answer = await this.#bottle.ask('POST', `/webhooks/${receiver.webhookId}/test`)
    if (answer?.status === 202) receiver.tests.push({ key: `${answer.body.delivery_id} test`, atMs })
  }

  #fail(receiver: Receiver, mode: ReceiverMode, forMs: number): void {
    this.#setMode(receiver, mode)
    const { turn } = receiver
    setTimeout(() => {
      if (receiver.turn === turn) this.#setMode(receiver, 'answer')
    }, forMs)
  }

  /** Lets some receivers fail when a message comes: alerts are rare, and a fault at another time shows nothing. */
  #failAtTimes(receiver: Receiver): void {
    const number = this.#receivers.indexOf(receiver)
    if (number < 1 || number > 3 || receiver.mode !== 'answer' || !this.#random.chance(0.3)) return
    const mode = this.#random.pick(['refuse', 'hang', 'reset'] as const)
    this.#fail(receiver, mode, this.#random.integer(1_000, this.#random.chance(0.3) ? 180 * MINUTE_MS : 5 * MINUTE_MS))
  }

  #setMode(receiver: Receiver, mode: Receiver['mode']): void {
    const { nowMs } = this.#bottle.time
    receiver.turn += 1
    const before = receiver.mode
    receiver.mode = mode
    if (before !== 'answer') receiver.badAtMs.set(pauseOf(before), nowMs)
    if (mode === 'answer') receiver.answersSinceMs = nowMs
    if (before === 'away' && mode !== 'away') receiver.listen()
    if (mode !== 'away' || before === 'away') return
    running.run(receiver.program, () => {
      receiver.server.close()
      receiver.server.closeAllConnections()
    })
  }

  #take(receiver: Receiver, request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      this.#failAtTimes(receiver)
      const receipt = this.#judge(receiver, request, Buffer.concat(chunks).toString())
      const { mode } = receiver
      if (mode === 'refuse') response.writeHead(500).end('broken')
      else if (mode === 'reset') response.destroy()
      else if (mode !== 'hang') {
        response.writeHead(204).end()
        receipt.answeredAtMs ??= this.#bottle.time.nowMs
      }
    })
  }

  /** Judges an attempt as it comes. */
  #judge(receiver: Receiver, { headers }: IncomingMessage, text: string): Receipt {
    const { time, life, kills, unsaved } = this.#bottle
    const { nowMs } = time
    const fault = (is: string, expected: string) =>
      this.#faults.push({ subject: receiver.program.name, is: `${is}: ${text.slice(0, 120)}`, expected })
    const timestamp = String(headers['x-cartbarn-timestamp'])
    const sum = createHmac('sha256', receiver.secret).update(`${timestamp}.${text}`).digest('hex')
    if (headers['x-cartbarn-signature'] !== `sha256=${sum}`) fault('wrong signature', 'a valid one')
    const isOff = Math.abs(nowMs / 1000 - Number(timestamp)) > 2
    if (isOff && !this.#bottle.wasClockWrong(nowMs - MINUTE_MS)) fault(`timestamp ${timestamp}`, `${nowMs / 1000}`)
    const { event, alert, sent_at: sentAt } = JSON.parse(text)
    // a start with a wrong clock tries for another day
    const isOld = nowMs - Date.parse(sentAt) > DAY_MS + ATTEMPT_MS
    if (isOld && !this.#bottle.wasClockWrong(Date.parse(sentAt))) fault('sent after more than a day', 'given up')
    const deliveryId = String(headers['x-cartbarn-delivery'])
    const id = alert?.alert_id ?? deliveryId
    const key = `${id} ${event}`
    if (!(alert === null || (receiver.kinds?.includes(alert.kind) ?? true))) fault('a kind it does not want', 'none')
    const before = receiver.receipts.get(key)
    if (before !== undefined && before.deliveryId !== deliveryId) fault('sent with two ids', 'once')
    const answeredMs = before?.answeredAtMs ?? null
    const isForgotten = [...kills, ...unsaved].some(
      (killMs) => answeredMs !== null && Math.abs(killMs - answeredMs) < KILL_MS,
    )
    if (answeredMs !== null && !isForgotten) fault('sent again after it was accepted', 'once')
    if (event !== 'opened' && event !== 'test' && nowMs - Date.parse(alert.opened_at) < DAY_MS - MINUTE_MS) {
      const opened = receiver.receipts.get(`${alert.alert_id} opened`)
      if (Date.parse(alert.opened_at) > this.#sinceMs && opened?.answeredAtMs == null)
        fault('sent before the opening was accepted', 'in order')
    }
    const failed = receiver.failures.get(id)
    if (failed !== undefined && failed.life === life.starts && failed.count > 0) {
      const { firstMs, factor, longestMs } = PAUSES[failed.how]
      const leastMs = Math.min(longestMs, firstMs * factor ** (failed.count - 1))
      if (nowMs - failed.atMs < leastMs - 100) fault(`tried again after ${nowMs - failed.atMs} ms`, `${leastMs} ms`)
    }
    const isFailure = receiver.mode !== 'answer'
    const count = isFailure ? (failed?.life === life.starts ? failed.count : 0) + 1 : 0
    receiver.failures.set(id, { life: life.starts, count, atMs: nowMs, how: pauseOf(receiver.mode) })
    const receipt = before ?? { deliveryId, answeredAtMs: null }
    receiver.receipts.set(key, receipt)
    return receipt
  }

  async #compare(): Promise<Finding[]> {
    const { time, life } = this.#bottle
    const found = this.#faults.splice(0)
    if (!life.isRunning) return found
    const from = new Date(Math.max(this.#sinceMs, time.nowMs - 2 * DAY_MS)).toISOString()
    // a clock that was ahead has opened some at times to come
    const listed = await this.#bottle.ask('GET', `/alerts?limit=1000&from=${from}&to=2099-01-01`)
    const webhooks = await this.#bottle.ask('GET', '/webhooks')
    if (listed === null || webhooks === null) return found
    const alerts: ShownAlert[] = listed.body.alerts
    const events = alerts.flatMap(({ alert_id: id, kind, ...times }) => {
      const happened = { opened: times.opened_at, acknowledged: times.acknowledged_at, closed: times.closed_at }
      const openedMs = Date.parse(times.opened_at)
      return Object.entries(happened).flatMap(([event, at]) =>
        at === null ? [] : [{ key: `${id} ${event}`, kind, atMs: Date.parse(at), openedMs }],
      )
    })
    for (const receiver of this.#receivers) {
      const firstTest = receiver.tests.findIndex(({ atMs }) => atMs > time.nowMs - 2 * DAY_MS)
      receiver.tests.splice(0, firstTest < 0 ? receiver.tests.length : firstTest)
      const subject = receiver.program.name
      const isWanted = (kind: string) => receiver.kinds?.includes(kind) ?? true
      const wanted = [
        ...events.filter(({ kind, atMs }) => atMs > this.#sinceMs && isWanted(kind)),
        ...receiver.tests.map((test) => ({ ...test, openedMs: test.atMs })),
      ]
      const missing = wanted.filter(({ key }) => receiver.receipts.get(key)?.answeredAtMs == null)
      for (const { key, atMs, openedMs } of missing) {
        const failedAtMs = receiver.failures.get(key.split(' ')[0] ?? '')?.atMs ?? Number.POSITIVE_INFINITY
        if (this.#isDue(receiver, atMs, failedAtMs < openedMs ? Number.NEGATIVE_INFINITY : openedMs))
          found.push({ subject, is: `did not receive ${key}`, expected: 'received' })
      }
      const known = new Set(events.map(({ key }) => key))
      // a clock that was ahead has dated alerts that are listed for months
      for (const [id, { atMs }] of receiver.failures)
        if (atMs < time.nowMs - 3 * DAY_MS && !known.has(`${id} opened`)) receiver.failures.delete(id)
      for (const key of receiver.receipts.keys())
        if (!receiver.failures.has(key.split(' ')[0] ?? '')) receiver.receipts.delete(key)
      const recent = [...receiver.receipts].filter(
        ([key, { answeredAtMs }]) => (answeredAtMs ?? 0) > time.nowMs - DAY_MS && !key.endsWith(' test'),
      )
      for (const [key] of recent)
        if (!known.has(key) && listed.body.pagination.total <= alerts.length)
          found.push({ subject, is: `received ${key}`, expected: 'an alert of the list' })
      const shown = webhooks.body.find((one: { webhook_id: string }) => one.webhook_id === receiver.webhookId)
      const isQuiet = wanted.every(({ atMs }) => Math.abs(time.nowMs - atMs) > MINUTE_MS) && missing.length === 0
      if (isQuiet && shown?.waiting !== 0)
        found.push({ subject, is: `${shown?.waiting} messages wait`, expected: 'none: it has all' })
    }
    return found
  }

  /** True if a receiver must have received an event by now, of an alert whose messages it could refuse since then. */
  #isDue({ mode, answersSinceMs, badAtMs }: Receiver, atMs: number, refusableSinceMs: number): boolean {
    const { time, life } = this.#bottle
    if (mode !== 'answer') return false
    const fromMs = Math.max(atMs, answersSinceMs, life.startedAtMs)
    // a start tries it immediately
    const isFresh = life.startedAtMs >= answersSinceMs
    // a message waits for those about the same alert before it, which a clock ahead has dated later than they were
    const sinceMs = this.#bottle.wasClockWrong(time.nowMs - DAY_MS) ? Number.NEGATIVE_INFINITY : refusableSinceMs
    const wasBad = (how: keyof typeof PAUSES) => !isFresh && (badAtMs.get(how) ?? 0) >= sinceMs
    const pauseMs = wasBad('unknown') ? 450 * MINUTE_MS : wasBad('refuse') ? 13 * MINUTE_MS : 0
    const dueMs = fromMs + pauseMs + MINUTE_MS
    return time.nowMs > dueMs && dueMs < atMs + DAY_MS
  }
}

function pauseOf(mode: Receiver['mode']): keyof typeof PAUSES {
  return mode === 'hang' || mode === 'reset' ? 'unknown' : 'refuse'
}
