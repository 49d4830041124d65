import { dirname, join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { type Bottle, type Check, EVENT_DAYS, type Finding, type Part, SAMPLE_DAYS } from '../bottle.ts'
import type { LiveCart } from '../model/cart.ts'
import { copyDatabase } from '../world/database-copy.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Longest time until it runs again, and the first time after a start. */
const LATE_MS = 7 * HOUR_MS
const FIRST_MS = 900_000
/** Carts whose whole history is read in a night. */
const READ_CARTS = 2
const MOST = 5
/** Days for which the rows of a night are known in the next ones. */
const KNOWN_DAYS = 7

/** Table whose rows end with their age. */
interface AgingTable {
  readonly name: string
  readonly key: string
  readonly time: string
  /** Days for which its rows are kept. */
  readonly days: number
  /** Rows that are kept however old they are. */
  readonly isKept?: string
}

const TABLES: readonly AgingTable[] = [
  { name: 'lock_event', key: 'event_id', time: 'at_ms', days: EVENT_DAYS },
  { name: 'geofence_event', key: 'event_id', time: 'at_ms', days: EVENT_DAYS },
  { name: 'audit_entry', key: 'entry_id', time: 'at_ms', days: EVENT_DAYS },
  {
    name: 'command',
    key: 'command_id',
    time: 'created_at_ms',
    days: EVENT_DAYS,
    isKept: "status IN ('pending', 'published', 'acknowledged')",
  },
  { name: 'alert', key: 'alert_id', time: 'opened_at_ms', days: 400 },
]

/** Data that is deleted for its age: what must be there still, and what must not. */
export class Retention implements Part {
  readonly checks: readonly Check[]
  readonly #bottle: Bottle
  /** Acknowledged samples of the last days, by cart. */
  readonly #samples = new Map<LiveCart, Set<number>>()
  /** Rows of the last nights with their times, by table. */
  readonly #rows = new Map<string, Map<string, number>>()
  #turn = 0

  constructor(bottle: Bottle) {
    this.#bottle = bottle
    if (bottle.isAging)
      Object.assign(bottle.settings, {
        CARTBARN_RETENTION_DAYS: String(SAMPLE_DAYS),
        CARTBARN_EVENT_RETENTION_DAYS: String(EVENT_DAYS),
      })
    const events: Check = {
      number: 42,
      claim: 'events are deleted once they are old enough, and not before',
      when: 'night',
      isForWrongClocks: true,
      find: () => this.#compareRows(),
    }
    const telemetry: Check = {
      number: 42,
      claim: 'positions are deleted once they are old enough, and not before',
      when: 'night',
      isForWrongClocks: true,
      find: () => this.#compareSamples(),
    }
    this.checks = [events, telemetry]
  }

  /** Time before which everything is gone; none while the clock was wrong, or the gateway had no time for it. */
  #goneBeforeMs(days: number): number {
    const { life, time, carts } = this.#bottle
    if (!this.#bottle.isAging || !life.isRunning || time.nowMs - life.startedAtMs < FIRST_MS) return 0
    if (this.#bottle.wasClockWrong(time.nowMs - LATE_MS - HOUR_MS)) return 0
    // it counts from the newest time that a device sent
    const heardMs = Math.max(...carts.map(({ last }) => last?.atMs ?? 0))
    return Math.min(time.nowMs, heardMs) - days * DAY_MS - LATE_MS
  }

  #compareRows(): Finding[] {
    const path = join(dirname(this.#bottle.dataDir), 'ages.db')
    const { life, dataDir } = this.#bottle
    life.disk.beside(() => copyDatabase(dataDir, path))
    const database = new Sqlite(path)
    try {
      return TABLES.flatMap((table) => {
        const rows = database.prepare<[], Row>(
          `SELECT ${table.key}, ${table.time}, ${table.isKept ?? 0} FROM ${table.name}`,
        )
        return this.#compareTable(table, rows.raw().all())
      })
    } finally {
      database.close()
    }
  }

  #compareTable({ name, days }: AgingTable, rows: readonly Row[]): Finding[] {
    const { nowMs } = this.#bottle.time
    const known = this.#rows.get(name) ?? new Map<string, number>()
    const is = new Set(rows.map(([key]) => key))
    const goneMs = this.#goneBeforeMs(days)
    const keptMs = nowMs - Math.min(days, KNOWN_DAYS) * DAY_MS
    const early = [...known].filter(([key, atMs]) => atMs > keptMs && !is.has(key))
    const late = rows.filter(([, atMs, isKept]) => atMs < goneMs && isKept === 0)
    this.#rows.set(name, new Map(rows.filter(([, atMs]) => atMs > keptMs).map(([key, atMs]) => [key, atMs])))
    return [
      ...early.map(([key, atMs]) => ({ is: `no ${name} ${key} of ${iso(atMs)}`, expected: `kept for ${days} days` })),
      ...late.map(([key, atMs]) => ({ is: `${name} ${key} of ${iso(atMs)}`, expected: `deleted after ${days} days` })),
    ].slice(0, MOST)
  }

  async #compareSamples(): Promise<Finding[]> {
    const { carts, time } = this.#bottle
    const keptMs = time.nowMs - SAMPLE_DAYS * DAY_MS
    for (const cart of carts) {
      const own = this.#samples.get(cart) ?? new Set()
      this.#samples.set(cart, own)
      for (const [atMs, isAcknowledged] of cart.samples) if (isAcknowledged) own.add(atMs)
      for (const atMs of own) if (atMs <= keptMs) own.delete(atMs)
    }
    const found: Finding[] = []
    for (let i = 0; i < READ_CARTS; i++) {
      const cart = carts[this.#turn++ % carts.length]
      if (cart !== undefined) found.push(...(await this.#compareCart(cart, keptMs)))
    }
    return found.slice(0, MOST)
  }

  async #compareCart(cart: LiveCart, keptMs: number): Promise<Finding[]> {
    const subject = cart.hardwareId
    const until = iso(this.#bottle.time.nowMs)
    const path = `/devices/${subject}/gps?format=ndjson`
    const answer = await this.#bottle.ask('GET', `${path}&from=${iso(keptMs)}&to=${until}`)
    const goneMs = this.#goneBeforeMs(SAMPLE_DAYS)
    if (answer === null) return []
    const stored = new Set(timesOf(answer.body))
    const missing = [...(this.#samples.get(cart) ?? [])].filter((atMs) => !stored.has(atMs)).slice(0, 1)
    const found = missing.map((atMs) => ({
      subject,
      is: `no record of ${iso(atMs)}`,
      expected: `kept for ${SAMPLE_DAYS} days`,
    }))
    if (goneMs === 0) return found
    for (const stream of ['gps', 'battery']) {
      const old = await this.#bottle.ask(
        'GET',
        `/devices/${subject}/${stream}?format=ndjson&from=${iso(0)}&to=${iso(goneMs)}`,
      )
      const [atMs] = old === null ? [] : timesOf(old.body)
      if (atMs !== undefined)
        found.push({ subject, is: `${stream} of ${iso(atMs)}`, expected: `deleted after ${SAMPLE_DAYS} days` })
    }
    return found
  }
}

/** Key, time, and 1 if it is kept in any case. */
type Row = [string, number, number]

function timesOf(body: string): number[] {
  return body.split('\n').flatMap((line) => (line === '' ? [] : [Date.parse(JSON.parse(line).timestamp)]))
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString()
}
