import { type Bottle, type Check, EVENT_DAYS, type Finding, SAMPLE_DAYS } from '../bottle.ts'
import type { LiveCart } from '../model/cart.ts'
import { DaySums } from '../model/day-sums.ts'

const DAY_MS = 86_400_000
const PAGE = 200
/** Days in which records of events must stay as they are; older ones are many. */
const LISTED_DAYS = 7
const MAX_PAGE = 1_000

/** Values of a record, in the order of `DaySums.add`; null if the gateway went down. */
type Reader = (bottle: Bottle, path: string, range: string) => Promise<unknown[][] | null>

const asNdjson: Reader = async (bottle, path, range) => {
  const answer = await bottle.ask('GET', `${path}?format=ndjson&${range}`)
  if (answer === null) return null
  const lines: string[] = answer.body.split('\n')
  return lines.filter((line) => line !== '').map((line) => valuesOf(JSON.parse(line)))
}

const asCsv: Reader = async (bottle, path, range) => {
  const answer = await bottle.ask('GET', `${path}?format=csv&${range}`)
  if (answer === null) return null
  const [head = '', ...lines]: string[] = answer.body.trimEnd().split(/\r?\n/)
  const names = head.split(',')
  return lines.map((line) => {
    const fields = line.split(',').map((text, i) => [names[i], names[i] === 'timestamp' ? text : Number(text)])
    return valuesOf(Object.fromEntries(fields))
  })
}

/** Pages backwards: each begins with the last record of the page before it, as both bounds are included. */
const asPages: Reader = async (bottle, path, range) => {
  const query = new URLSearchParams(range)
  const found: unknown[][] = []
  for (;;) {
    const answer = await bottle.ask('GET', `${path}?limit=${PAGE}&${query}`)
    if (answer === null) return null
    const page: Record<string, unknown>[] = answer.body
    const before = found.at(-1)
    const records = page.map(valuesOf)
    // if it differs it stays, and the sum is wrong
    found.push(...(before?.join() === records[0]?.join() ? records.slice(1) : records))
    const last = page.at(-1)
    if (page.length < PAGE || last === undefined) return found
    query.set('to', String(last.timestamp))
  }
}

function valuesOf({ timestamp, ...fields }: Record<string, unknown>): unknown[] {
  const values = 'lat' in fields ? [fields.lat, fields.long, fields.speed] : [fields.battery_voltage]
  return [Date.parse(String(timestamp)), ...values]
}

const READERS: readonly { what: string; stream: 'gps' | 'battery'; read: Reader }[] = [
  { what: 'ndjson', stream: 'gps', read: asNdjson },
  { what: 'CSV', stream: 'gps', read: asCsv },
  { what: 'pages', stream: 'gps', read: asPages },
  { what: 'ndjson', stream: 'battery', read: asNdjson },
  { what: 'CSV', stream: 'battery', read: asCsv },
]

/** Check that what was acknowledged stays as it was, however it is read, and through all faults. */
export class Stored implements Check {
  readonly number = 6
  readonly claim = 'all records of a finished day are those acknowledged, in each format, for as long as they are kept'
  readonly when = 'night'
  /** Metres that each cart drove on a day, as was first shown. */
  readonly #distances = new Map<string, string>()
  /** Finished events of the last days by path and id. */
  readonly #events = new Map<string, string>()
  #nights = 0

  async find(bottle: Bottle): Promise<Finding[]> {
    this.#nights += 1
    const yesterday = Math.floor(bottle.time.nowMs / DAY_MS) - 1
    const keptMs = bottle.isAging ? bottle.time.nowMs - SAMPLE_DAYS * DAY_MS : 0
    const first = Math.max(Math.floor(bottle.time.startMs / DAY_MS), Math.floor(keptMs / DAY_MS) + 1)
    const found = await this.#changedEvents(bottle)
    for (const [i, cart] of bottle.carts.entries()) {
      // an older day each night, and in turn all ways to read
      const older = first + ((this.#nights * 7 + i) % Math.max(1, yesterday - first))
      for (const day of new Set([yesterday, older])) {
        if (day < first || [...cart.samples].some(([atMs, isStored]) => !isStored && isOn(day, atMs))) continue
        const which = day === yesterday ? [0, 1 + ((i + this.#nights) % 4)] : [(i + this.#nights) % READERS.length]
        for (const at of which) found.push(...(await differences(bottle, cart, day, at)))
        found.push(...(await this.#changedDistance(bottle, cart, day)))
      }
    }
    return found
  }

  /** Trips do not change once all records of their day are there. */
  async #changedDistance(bottle: Bottle, { hardwareId }: LiveCart, day: number): Promise<Finding[]> {
    const answer = await bottle.ask('GET', `/trips/${hardwareId}/summary?${rangeOf(day)}&minimalParkingDuration=1200`)
    if (answer === null) return []
    const key = `${hardwareId} ${day}`
    const is = JSON.stringify(answer.body)
    const was = this.#distances.get(key) ?? is
    this.#distances.set(key, was)
    return is === was ? [] : [{ subject: hardwareId, is: `trips of day ${day}: ${is}`, expected: was }]
  }

  /** Lock events, finished commands and closed alerts that changed or went away. */
  async #changedEvents(bottle: Bottle): Promise<Finding[]> {
    const found: Finding[] = []
    const days = bottle.isAging ? Math.min(LISTED_DAYS, EVENT_DAYS) : LISTED_DAYS
    const sinceMs = bottle.time.nowMs - days * DAY_MS
    for (const { path, list, idOf, textOf } of EVENTS) {
      const seen = new Map<string, string>()
      for (let offset = 0, isMore = true; isMore; offset += MAX_PAGE) {
        const answer = await bottle.ask('GET', `/${path}?limit=${MAX_PAGE}&offset=${offset}`)
        if (answer === null) return found
        const rows: Row[] = answer.body[list]
        for (const row of rows) {
          const text = textOf(row)
          if (text !== null) seen.set(`${path} ${idOf(row)}`, text)
        }
        const isRecent = (row: Row) => Date.parse(String(row[TIME_OF[path] ?? ''])) > sinceMs
        // a wrong clock makes later ones older
        isMore = rows.length === MAX_PAGE && rows.some(isRecent)
      }
      // in a list by receipt, events of a clock that was ahead may be on a later page than newer ones
      const isCompared = (text: string) => {
        const atMs = Date.parse(text.split(' ')[0] ?? '')
        return atMs > sinceMs && atMs <= bottle.time.nowMs
      }
      for (const [key, was] of this.#events) {
        if (!key.startsWith(`${path} `)) continue
        if (!isCompared(was)) this.#events.delete(key)
        else if (seen.get(key) !== was)
          found.push({ is: `${key}: ${seen.get(key)}`, expected: `${was}, as the night before` })
      }
      for (const [key, text] of seen) if (isCompared(text)) this.#events.set(key, text)
    }
    return found.slice(0, 5)
  }
}

type Row = Record<string, unknown>

const TIME_OF: Readonly<Record<string, string>> = {
  'lock-events': 'timestamp',
  commands: 'created_at',
  alerts: 'opened_at',
}

/** Lists of events; the text of one begins with its time, and is null while it may change. */
const EVENTS: readonly { path: string; list: string; idOf(row: Row): unknown; textOf(row: Row): string | null }[] = [
  {
    path: 'lock-events',
    list: 'events',
    idOf: ({ event_id }) => event_id,
    textOf: ({ timestamp, hardware_id, event, source }) => `${timestamp} ${hardware_id} ${event} ${source}`,
  },
  {
    path: 'commands',
    list: 'commands',
    idOf: ({ command_id }) => command_id,
    textOf: ({ created_at, hardware_id, command, status }) =>
      ['completed', 'failed', 'timeout'].includes(String(status))
        ? `${created_at} ${hardware_id} ${command} ${status}`
        : null,
  },
  {
    path: 'alerts',
    list: 'alerts',
    idOf: ({ alert_id }) => alert_id,
    textOf: ({ opened_at, closed_at, kind, cart }) =>
      closed_at === null ? null : `${opened_at} ${closed_at} ${kind} ${cart}`,
  },
]

async function differences(bottle: Bottle, cart: LiveCart, day: number, at: number): Promise<Finding[]> {
  const { what, stream, read } = READERS[at] ?? assertNever(at)
  const records = await read(bottle, `/devices/${cart.hardwareId}/${stream}`, rangeOf(day))
  if (records === null) return []
  const shown = new DaySums()
  for (const [atMs, ...values] of records) shown.add(Number(atMs), ...values)
  const [is, expected] = [shown.of(day), cart.stored[stream].of(day)]
  if (is === expected) return []
  return [{ subject: cart.hardwareId, is: `${stream} of day ${day} as ${what}: ${is}`, expected }]
}

function assertNever(at: number): never {
  throw new Error(`there is no reader ${at}`)
}

function isOn(day: number, atMs: number): boolean {
  return Math.floor(atMs / DAY_MS) === day
}

function rangeOf(day: number): string {
  const iso = (ms: number) => new Date(ms).toISOString()
  return `from=${iso(day * DAY_MS)}&to=${iso((day + 1) * DAY_MS - 1)}`
}
