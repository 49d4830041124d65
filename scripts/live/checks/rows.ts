import { statSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import type { Bottle, Check, Finding } from '../bottle.ts'

const PAGE_BYTES = 4096
const DAY_MS = 86_400_000
/** Bytes of an empty database, of a sample and of any other row, with their indexes. */
const EMPTY_BYTES = 2_000_000
const SAMPLE_BYTES = 60
const ROW_BYTES = 2_000
/** Limit of the write-ahead log that stays, and what one checkpoint may add. */
const LOG_BYTES = 80_000_000
/** Free pages are given back within minutes. */
const FREE_PAGES = 500

/** Deeds of the course so far. */
interface Course {
  /** Number with their screens, which are devices too. */
  readonly carts: number
  /** Begun days. */
  readonly days: number
  /** Samples that were acknowledged. */
  readonly samples: number
  readonly lockEvents: number
  readonly commands: number
  /** Samples from which the log is sealed. */
  readonly sealed: number
}

type Bound = (course: Course) => number

const none: Bound = () => 0
const one: Bound = () => 1
const some: Bound = () => 100
/** Carts, their screens, and a device that is lent. */
const perDevice: Bound = ({ carts }) => carts + 1
// a block has up to 2,048 records, and late ones split it
const blocks: Bound = ({ samples, carts }) => 2 * (samples / 512 + 8 * carts)
/** Bound for persons with sessions, targets and zones, of which a course has few. */
const perDay: Bound = ({ days }) => 100 + 50 * days

/** Most rows of each table, by its rule. A table without one is reported. */
const BOUNDS: Readonly<Record<string, Bound>> = {
  device: perDevice,
  device_state: perDevice,
  device_config: perDevice,
  device_group: some,
  device_type: some,
  group_config: some,
  config_version: some,
  removed_device: some,
  cart_motion: perDevice,
  cart_note: perDevice,
  party: none,
  name_deletion: one,
  service_entry: some,
  service_plan: some,
  // kept: a row for each cart and day
  cart_usage: ({ carts, days }) => (carts + 1) * (days + 8),
  service_days: one,
  zone_exempt: perDevice,
  // older closing times are deleted
  closing: () => 40,
  closed_day: one,
  sqlite_sequence: some,
  migration: () => 200,
  machine: one,
  site: one,
  clock_mark: one,
  secret: some,
  note: perDay,
  recall: some,
  message: ({ commands }) => commands,
  ready_texts: one,
  // of the last recall: one for each return of a screen
  recall_message: ({ carts }) => 20 * carts,
  // nothing is deleted in the bottle, and nothing is unreadable
  telemetry_deletion: none,
  erase_mark: some,
  quarantine: none,
  damaged_block: none,
  hidden_block: none,
  telemetry_log_end: one,
  telemetry_log: ({ sealed, carts }) => Math.max(sealed, 128 * carts) + 1_000,
  telemetry_block: blocks,
  block_log: blocks,
  state_change: ({ carts }) => 10 * carts,
  lock_event: ({ lockEvents }) => lockEvents,
  geofence_event: ({ carts, days }) => 400 * carts * days,
  cart_call: ({ carts, days }) => 100 * carts * days,
  alert: ({ carts, days }) => 100 + 60 * carts * days,
  // those of staff, and the automatic locks: after each stay in the barn and at closing time
  command: ({ commands, carts, days }) => commands + 30 * carts * days,
  command_count: some,
  audit_entry: ({ commands, carts, days }) => 500 + 2 * commands + 30 * carts * days,
  change_log: ({ commands, carts, days, lockEvents }) => 1_000 + 4 * commands + lockEvents + 200 * carts * days,
  idempotency_key: ({ commands }) => 100 + commands,
  user: some,
  session: () => 2_000,
  pin_tries: some,
  webhook: () => 20,
  mail_report: () => 20,
  notifier: () => 20,
  delivery: () => 40 * 10_000,
  mqtt_session: ({ carts }) => carts + 100,
  mqtt_subscription: ({ carts }) => 2 * carts + 200,
  mqtt_queued: ({ carts }) => 100 * carts + 1_000,
  mqtt_received: some,
  mqtt_retained: ({ carts }) => 4 * carts + 100,
  mqtt_will: ({ carts }) => carts + 100,
  geofence_set: ({ carts }) => 10 * carts + 100,
  zone_set: some,
  zone_version: perDay,
  course: some,
  course_piece: () => 5_000,
  course_photo: one,
  sync_identity: one,
  sync_cursor: some,
  intent_inbox: () => 1_000,
}

/** Check that no table grows beyond its rule, nor the files beyond the rows. */
export class Rows implements Check {
  readonly number = 50
  readonly claim = 'each table has no more rows than its rule allows, and the file no more pages than they need'
  readonly when = 'night'

  find(bottle: Bottle): Finding[] {
    const { life, time, carts, screens, commandIds, dataDir } = bottle
    if (!life.isRunning || life.disk.isFailing) return []
    const sum = (count: (cart: (typeof carts)[number]) => number) => carts.reduce((all, cart) => all + count(cart), 0)
    const course: Course = {
      carts: carts.length + screens.length,
      days: Math.ceil((time.nowMs - time.startMs) / DAY_MS),
      // with those whose acknowledgement is under way
      samples: sum(({ stored, samples }) => stored.gps.total + samples.size),
      lockEvents: sum(({ lockEvents }) => lockEvents.length),
      commands: commandIds.size,
      sealed: 4096,
    }
    const path = join(dataDir, 'cartbarn.db')
    const db = new Sqlite(path, { readonly: true })
    try {
      const rows = countRows(db)
      return [...tooMany(rows, course), ...tooLarge(db, path, rows, course)]
    } finally {
      db.close()
    }
  }
}

function countRows(db: Sqlite.Database): ReadonlyMap<string, number> {
  const names = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all()
  return new Map(names.map((name) => [name, Number(db.prepare(`SELECT count(*) FROM "${name}"`).pluck().get())]))
}

function tooMany(rows: ReadonlyMap<string, number>, course: Course): Finding[] {
  return [...rows]
    .map(([name, count]) => ({ name, count, most: BOUNDS[name]?.(course) }))
    .filter(({ count, most }) => most === undefined || count > most)
    .map(({ name, count, most }) => ({ is: `${count} rows of ${name}`, expected: `at most ${most}` }))
}

function tooLarge(
  db: Sqlite.Database,
  path: string,
  rows: ReadonlyMap<string, number>,
  { samples }: Course,
): Finding[] {
  const others = [...rows].reduce((all, [name, count]) => all + (name.startsWith('telemetry_') ? 0 : count), 0)
  const pragma = (name: string) => Number(db.pragma(name, { simple: true }))
  const most = EMPTY_BYTES + samples * SAMPLE_BYTES + others * ROW_BYTES
  return [
    { what: 'bytes of the database', is: pragma('page_count') * PAGE_BYTES, most },
    { what: 'free pages', is: pragma('freelist_count'), most: FREE_PAGES },
    { what: 'bytes of the write-ahead log', is: statSync(`${path}-wal`).size, most: LOG_BYTES },
  ]
    .filter((one) => one.is > one.most)
    .map((one) => ({ is: `${one.is} ${one.what}`, expected: `at most ${Math.round(one.most)}` }))
}
