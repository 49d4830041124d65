import type { Bottle, Check, Finding, Part } from '../bottle.ts'
import type { Entry } from '../plan.ts'

const MINUTE_MS = 60_000
/** Age of a stay from which it is stored. */
const STORED_MS = 5 * MINUTE_MS
/** Downtime after which a stay may count from the return. */
const LONGEST_MS = 2 * MINUTE_MS

type Row = Record<string, unknown>

/** Fields that only people change, by path. */
const SHOWN: Readonly<Record<string, readonly string[]>> = {
  '/carts': ['cart', 'note', 'out_of_service'],
  '/users': ['user_id', 'name', 'role', 'allowed_hardware_ids', 'mask_codes', 'is_active', 'has_pin'],
  '/webhooks': ['webhook_id', 'url', 'kinds'],
  '/devices': ['hardware_id', 'device_type', 'cart'],
  '/zones': ['id', 'geometry'],
  '/sessions': ['session_id', 'user_id'],
}

interface ShownZone extends Row {
  readonly id: string
  readonly properties: { readonly switched: { readonly until: string | null } | null }
}

interface ShownCart extends Row {
  readonly cart: string
  readonly zones: readonly { readonly zone_id: string; readonly since: string }[]
  readonly exempt: { readonly until: string } | null
}

interface Seen {
  readonly atMs: number
  readonly starts: number
  readonly shown: ReadonlyMap<string, readonly string[]>
  /** Begin of each stay of a cart in a zone. */
  readonly stays: ReadonlyMap<string, string>
  /** End of each override. */
  readonly ends: ReadonlyMap<string, string>
}

/** Compares responses before a gateway ends and after its next start. */
export class Restarts implements Part {
  readonly checks: readonly Check[]
  readonly #bottle: Bottle
  readonly #found: Finding[] = []
  #before: Seen | null = null

  constructor(bottle: Bottle) {
    this.#bottle = bottle
    this.checks = [
      {
        number: 59,
        claim: 'a start brings back all that people have set, and how long carts have been where they are',
        when: 'look',
        find: async () => {
          await this.#compare()
          return this.#found.splice(0)
        },
      },
    ]
  }

  async perform(entry: Entry): Promise<void> {
    await this.#compare()
    this.#before = entry.kind === 'kill' || entry.kind === 'restart' ? await this.#see() : null
  }

  async #see(): Promise<Seen | null> {
    const { time, life, writesSinceMs } = this.#bottle
    const isCalm = writesSinceMs < time.nowMs - MINUTE_MS && !this.#bottle.wasClockWrong(time.nowMs - MINUTE_MS)
    const [atMs, { starts }] = [time.nowMs, life]
    if (!life.isRunning || !isCalm) return null
    const shown = new Map<string, readonly string[]>()
    const stays = new Map<string, string>()
    const ends = new Map<string, string>()
    for (const [path, fields] of Object.entries(SHOWN)) {
      const answer = await this.#bottle.ask('GET', path)
      if (answer === null) return null
      const rows = rowsOf(answer.body)
      shown.set(path, rows.map((row) => JSON.stringify(fields.map((field) => row[field]))).sort())
      if (path === '/zones')
        for (const { id, properties } of rows as ShownZone[])
          if (properties.switched !== null) ends.set(`zone ${id} is switched`, `${properties.switched.until}`)
      if (path !== '/carts') continue
      for (const { cart, zones, exempt } of rows as ShownCart[]) {
        for (const { zone_id: zone, since } of zones) stays.set(`cart ${cart} in ${zone}`, since)
        if (exempt !== null) ends.set(`cart ${cart} is exempt`, exempt.until)
      }
    }
    return { atMs, starts, shown, stays, ends }
  }

  async #compare(): Promise<void> {
    const before = this.#before
    const { life, time } = this.#bottle
    if (before === null || life.starts === before.starts || !life.isRunning) return
    this.#before = null
    const isShort = life.startedAtMs - before.atMs < LONGEST_MS && time.nowMs - life.startedAtMs < LONGEST_MS
    const after = await this.#see()
    if (after === null || after.starts !== before.starts + 1) return
    for (const [path, rows] of before.shown) {
      const now = after.shown.get(path) ?? []
      const [gone] = rows.filter((row) => !now.includes(row))
      const [added] = now.filter((row) => !rows.includes(row))
      if (gone !== undefined || added !== undefined)
        this.#found.push({ subject: path, is: `${added} after a start`, expected: `${gone}, as before` })
    }
    for (const [subject, since] of before.stays) {
      const is = after.stays.get(subject)
      if (isShort && is !== undefined && is !== since && Date.parse(since) < before.atMs - STORED_MS)
        this.#found.push({ subject, is: `since ${is} after a start`, expected: `since ${since}, as before` })
    }
    for (const subject of new Set([...before.ends.keys(), ...after.ends.keys()])) {
      const [was, is] = [before.ends.get(subject), after.ends.get(subject)]
      const isOver = is === undefined && was !== undefined && Date.parse(was) < time.nowMs + MINUTE_MS
      if (was !== is && !isOver)
        this.#found.push({ subject, is: `until ${is} after a start`, expected: `until ${was}, as before` })
    }
  }
}

/** Rows of a list, or of the list in an object. */
function rowsOf(body: Row | Row[]): Row[] {
  const lists = Array.isArray(body) ? [body] : Object.values(body).filter(Array.isArray)
  return lists[0] ?? []
}
