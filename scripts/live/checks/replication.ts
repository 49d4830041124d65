import type { Sql } from '#hub/store/database/database.ts'
import type { Bottle, Check, Finding } from '../bottle.ts'
import type { LiveCart } from '../model/cart.ts'
import { NIGHT_MINUTE, toLocal } from '../model/local-time.ts'
import { type GatewayRows, openRows } from '../world/gateway-rows.ts'
import type { HubLife } from '../world/hub-life.ts'
import { isSettled } from './devices.ts'

const HOUR_MS = 3_600_000
/** Data that arrived in the last moments may be on its way. */
const FRESH_MS = 90_000

/** Part with the hub. */
interface Office {
  readonly hub: HubLife
  readonly siteId: string
  readonly isReachable: boolean
  readonly stableMs: number
  readonly restoredAtMs: number
  cursorsOf(epoch: string): Promise<Map<string, number>>
}

type Row = Record<string, unknown>

const EVENTS = {
  notes: ['note', 'note_id'],
  lock_events: ['lock_event', 'event_id'],
  geofence_events: ['geofence_event', 'event_id'],
} as const

/** Columns that the hub gets of tables whose rows are sent by key. */
const ENTITIES: Readonly<Record<string, string>> = {
  device: `device_id, hardware_id, short_id, device_type, name, cart, group_id, created_at_ms, updated_at_ms
    FROM device WHERE hardware_id = ?`,
  device_group: '* FROM device_group WHERE group_id = CAST(? AS INTEGER)',
  device_config: 'hardware_id, config FROM device_config JOIN device USING (device_id) WHERE hardware_id = ?',
  user: `user_id, name, email, role, is_active, allowed_hardware_ids, mask_codes, created_at_ms
    FROM user WHERE user_id = ?`,
  command: '* FROM command WHERE command_id = ?',
  audit_entry: '* FROM audit_entry WHERE entry_id = ?',
  site: 'settings, updated_at_ms FROM site WHERE ? IS NOT NULL',
  alert: `alert_id, kind, cart, hardware_id, opened_at_ms, closed_at_ms, acknowledged_at_ms, acknowledged_by, note,
    details FROM alert WHERE alert_id = ?`,
  zone_set: 'version, zones, switches, updated_at_ms FROM zone_set WHERE ? IS NOT NULL',
  party: 'party_id, date, updated_at_ms, body FROM party WHERE party_id = ?',
  cart_note: '* FROM cart_note WHERE cart = ?',
}

/** Row that the hub must have. */
interface Wanted {
  readonly stream: string
  readonly table: string
  readonly key: string
  /** Null if it was deleted. */
  readonly row: Row | null
}

/** Comparison of the rows of gateway and hub. */
export class Replication {
  readonly check: Check
  readonly #bottle: Bottle
  readonly #office: Office
  /** Ends of the streams in the last minutes, newest last. */
  #ends: { readonly atMs: number; readonly ends: ReadonlyMap<string, number> }[] = []
  /** Positions up to which rows were compared. */
  readonly #compared = new Map<string, number>()
  #restoredAtMs = Number.NEGATIVE_INFINITY
  #turn = 0
  readonly #early: Finding[] = []

  constructor(bottle: Bottle, office: Office) {
    this.#bottle = bottle
    this.#office = office
    this.check = {
      number: 37,
      claim: 'the hub has the rows of the gateway when the gateway reports in_sync',
      when: 'look',
      find: () => this.#compare(),
    }
  }

  /** Remembers what the gateway has at this moment. */
  sample(): void {
    const { life, time } = this.#bottle
    if (!life.isRunning || life.disk.isFailing) return
    const rows = this.#open()
    const ends = new Map([...Object.keys(EVENTS), 'entities'].map((stream) => [stream, rows.endOf(stream)]))
    rows.close()
    this.#ends.push({ atMs: time.nowMs, ends })
    if (this.#ends.length > 30) this.#ends.splice(0, 15)
  }

  /** Looks, while the gateway reports in_sync, if the hub has what has been there for some time. */
  async probe(epoch: string): Promise<void> {
    const { hub, siteId, restoredAtMs } = this.#office
    const known = this.#ends.findLast(({ atMs }) => atMs <= this.#bottle.time.nowMs - FRESH_MS)
    if (known === undefined || known.atMs <= restoredAtMs) return
    const sql = 'SELECT stream, seq FROM sync_cursor WHERE site_id = $1 AND epoch = $2'
    const rows = (await hub.server?.all<{ stream: string; seq: number }>(sql, [siteId, epoch])) ?? []
    for (const { stream, seq } of rows) {
      const end = known.ends.get(stream) ?? 0
      if (seq >= end) continue
      const expected = `${end}, as the gateway had at ${isoOf(known.atMs)}`
      this.#early.push({ subject: stream, is: `in_sync while the hub is at ${seq}`, expected })
    }
  }

  async #compare(): Promise<Finding[]> {
    if (this.#bottle.life.disk.isFailing) return []
    const { life, time } = this.#bottle
    const { hub, isReachable, restoredAtMs } = this.#office
    const status = await this.#bottle.ask('GET', '/sync/status')
    if (status === null || !life.isRunning || hub.server === undefined) return []
    const { state, details } = status.body
    const atMs = time.nowMs
    const isNight = toLocal(atMs).minute === NIGHT_MINUTE
    if (restoredAtMs !== this.#restoredAtMs || isNight) {
      // a new epoch has positions of its own
      this.#restoredAtMs = restoredAtMs
      this.#ends = this.#ends.filter((one) => one.atMs > restoredAtMs)
      this.#compared.clear()
    }
    const isInSync = state === 'in_sync'
    const wanted = isInSync ? this.#wanted(atMs) : []
    const cursors = await this.#office.cursorsOf(details.epoch)
    const ahead: Finding[] = details.streams
      .filter(({ stream, acked_seq }: Row) => Number(acked_seq) > (cursors.get(String(stream)) ?? 0))
      .map(({ stream, acked_seq }: Row) => ({
        subject: stream,
        is: `acknowledged up to ${acked_seq}`,
        expected: `${cursors.get(String(stream)) ?? 0}, as the hub has`,
      }))
    const found = [...ahead, ...this.#early.splice(0)]
    if (isInSync) found.push(...(await this.#compareRows(wanted)))
    if (isInSync && isNight) found.push(...(await this.#findExtra(hub.server)))
    if (isInSync && isReachable && this.#office.stableMs > FRESH_MS && found.length === 0)
      found.push(...(await this.#compareTelemetry(isNight)), ...(await this.#compareStates()))
    return found.slice(0, 5)
  }

  #open(): GatewayRows {
    return openRows(this.#bottle.dataDir)
  }

  /** Rows that were there some time ago and were not compared yet, read from the files of the gateway. */
  #wanted(atMs: number): Wanted[] {
    const known = this.#ends.findLast((one) => one.atMs <= atMs - FRESH_MS)
    if (known === undefined) return []
    const rows = this.#open()
    const wanted: Wanted[] = []
    const newOf = (stream: string) => {
      const range = [this.#compared.get(stream) ?? 0, known.ends.get(stream) ?? 0]
      this.#compared.set(stream, Math.max(...range))
      return range
    }
    for (const [stream, [table, key]] of Object.entries(EVENTS))
      for (const row of rows.all<Row>(`SELECT * FROM ${table} WHERE seq > ? AND seq <= ?`, ...newOf(stream)))
        wanted.push({ stream, table, key: String(row[key]), row })
    const changes = rows.all<{ entity: string; key: string }>(
      'SELECT entity, key FROM change_log WHERE seq > ? AND seq <= ?',
      ...newOf('entities'),
    )
    for (const { entity: table, key } of changes) {
      const select = ENTITIES[table]
      if (select === undefined) continue
      wanted.push({ stream: 'entities', table, key, row: rows.all<Row>(`SELECT ${select}`, key)[0] ?? null })
    }
    rows.close()
    return wanted
  }

  async #compareRows(wanted: readonly Wanted[]): Promise<Finding[]> {
    const found: Finding[] = []
    for (const stream of [...Object.keys(EVENTS), 'entities']) {
      const own = wanted.filter((one) => one.stream === stream)
      const bodies = await this.#bodiesOf(stream, own)
      for (const { table, key, row } of own) {
        const body = bodies.get(`${table} ${key}`)
        const difference = differenceOf(row, body === undefined || body === null ? null : JSON.parse(body))
        if (difference !== null)
          found.push({
            subject: stream,
            is: `${table} ${key} at the hub: ${difference}`,
            expected: 'that of the gateway',
          })
      }
    }
    return found
  }

  /** Finds rows at the hub that the gateway does not have; those that a restore took back stay there. */
  async #findExtra(server: Sql): Promise<Finding[]> {
    const { siteId } = this.#office
    const { time, restores } = this.#bottle
    const sql = `SELECT stream AS "table", event_id AS "key", at_ms AS "atMs" FROM event WHERE site_id = $1 UNION ALL
      SELECT entity_table, entity_key, 0 FROM entity WHERE site_id = $1 AND body IS NOT NULL`
    const all = server.all<{ table: string; key: string; atMs: number }>(sql, [siteId])
    const stored = await time.until('all rows of the hub', all)
    if (!this.#bottle.life.isRunning) return []
    const rows = this.#open()
    const extra = stored.filter(({ table, key, atMs }) => {
      const [name, column] = EVENTS[table as keyof typeof EVENTS] ?? []
      const select = name === undefined ? ENTITIES[table] : `1 FROM ${name} WHERE ${column} = ?`
      if (select === undefined || restores.some((one) => atMs > one.fromMs - HOUR_MS && atMs <= one.toMs)) return false
      return rows.all(`SELECT ${select}`, key).length === 0
    })
    rows.close()
    const expected = 'only rows of the gateway'
    return extra.map(({ table, key }) => ({ subject: table, is: `${table} ${key} at the hub`, expected }))
  }

  /** JSON of rows at the hub, by table and key. */
  async #bodiesOf(stream: string, wanted: readonly Wanted[]): Promise<Map<string, string | null>> {
    const bodies = new Map<string, string | null>()
    const { hub, siteId } = this.#office
    for (const table of new Set(wanted.map((one) => one.table))) {
      const [key, from, kind, name] =
        table === 'audit_entry'
          ? ['entry_id', 'audit_entry', "'audit_entry'", table]
          : stream === 'entities'
            ? ['entity_key', 'entity', 'entity_table', table]
            : ['event_id', 'event', 'stream', stream]
      const sql = `SELECT ${key} AS "key", body FROM ${from} WHERE site_id = $1 AND ${kind} = $2 AND ${key} = ANY($3)`
      const keys = wanted.filter((one) => one.table === table).map((one) => one.key)
      for (let at = 0; at < keys.length; at += 500) {
        const some = hub.server?.all<{ key: string; body: string | null }>(sql, [
          siteId,
          name,
          keys.slice(at, at + 500),
        ])
        for (const row of await this.#bottle.time.until('rows of the hub', some ?? Promise.resolve([])))
          bodies.set(`${table} ${row.key}`, row.body)
      }
    }
    return bodies
  }

  /** Compares positions and voltages of one cart, or of all by night. */
  async #compareTelemetry(isNight: boolean): Promise<Finding[]> {
    const { carts, time } = this.#bottle
    const found: Finding[] = []
    const chosen = isNight ? carts : carts.slice(this.#turn % carts.length).slice(0, 1)
    this.#turn += 1
    for (const cart of chosen) {
      if (!isSettled(this.#bottle, cart, FRESH_MS) || !cart.isDrained) continue
      const toMs = time.nowMs - FRESH_MS
      const fromMs = toMs - (isNight ? 26 : 3) * HOUR_MS
      for (const kind of ['gps', 'battery']) found.push(...(await this.#compareHistory(cart, kind, fromMs, toMs)))
    }
    return found
  }

  async #compareHistory(cart: LiveCart, kind: string, fromMs: number, toMs: number): Promise<Finding[]> {
    const { hub, siteId } = this.#office
    const { restores, life } = this.#bottle
    const path = `/devices/${cart.hardwareId}/${kind}?format=ndjson&from=${isoOf(fromMs)}&to=${isoOf(toMs)}`
    const here = await this.#bottle.ask('GET', path)
    const there = await hub.ask('GET', `/sites/${siteId}${path}`)
    if (here?.status !== 200 || there === null || !life.isRunning) return []
    const [own, its] = [here.body, there.body].map((text: string) => new Set(text.split('\n')))
    const lacks = [...(own ?? [])].filter((line) => its?.has(line) !== true)
    const extra = [...(its ?? [])].filter((line) => own?.has(line) !== true && !isLost(line))
    function isLost(line: string): boolean {
      const atMs = Date.parse(JSON.parse(line).timestamp)
      return restores.some((one) => atMs > one.fromMs - HOUR_MS && atMs <= one.toMs)
    }
    const subject = cart.hardwareId
    const expected = `the ${kind} of the gateway`
    const [lacking, other] = [lacks[0], extra[0]]
    return [
      ...(lacking === undefined ? [] : [{ subject, is: `the hub lacks ${lacks.length}: ${lacking}`, expected }]),
      ...(other === undefined ? [] : [{ subject, is: `the hub has ${extra.length} more: ${other}`, expected }]),
    ]
  }

  /** Compares the states of carts that have sent nothing for some time. */
  async #compareStates(): Promise<Finding[]> {
    const { hub, siteId } = this.#office
    const { carts, time, life } = this.#bottle
    const here = await this.#bottle.ask('GET', '/devices?limit=1000')
    const there = await hub.ask('GET', `/sites/${siteId}/devices?limit=1000`)
    if (here?.status !== 200 || there?.status !== 200 || !life.isRunning) return []
    const found: Finding[] = []
    for (const cart of carts) {
      // it has announced its sleep, and will disconnect
      const fallsAsleep = cart.isConnected && !cart.isAwake
      if (fallsAsleep || !isSettled(this.#bottle, cart, FRESH_MS)) continue
      if ((cart.last?.atMs ?? time.nowMs) > time.nowMs - FRESH_MS) continue
      const [own, its] = [here, there].map(({ body }) => {
        const device = body.devices.find((one: { hardware_id: string }) => one.hardware_id === cart.hardwareId)
        return JSON.stringify([device?.is_online, device?.attributes])
      })
      if (own !== its) found.push({ subject: cart.hardwareId, is: `${its} at the hub`, expected: `${own}` })
    }
    return found
  }
}

function isoOf(atMs: number): string {
  return new Date(atMs).toISOString()
}

/** Columns that the gateway keeps for itself. */
const LOCAL = ['seq', 'identity']

/** Words for the first field in which a row at the hub differs; null if none does. */
function differenceOf(row: Row | null, body: Row | null): string | null {
  if (row === null || body === null) return row === body ? null : body === null ? 'none' : JSON.stringify(body)
  for (const column of Object.keys(row)) {
    const name = column.replace(/_e7$/, '')
    if (LOCAL.includes(column) || (row[column] === null && !(name in body))) continue
    const own = column.endsWith('_e7') ? Number(row[column]) / 1e7 : row[column]
    const its = body[name]
    const isSame =
      typeof its === 'boolean'
        ? its === (own !== 0 && own !== null)
        : typeof its === 'object' && its !== null
          ? JSON.stringify(its) === JSON.stringify(JSON.parse(String(own)))
          : its === own
    if (!isSame) return `${name} ${JSON.stringify(its)} instead of ${JSON.stringify(own)}`
  }
  return null
}
