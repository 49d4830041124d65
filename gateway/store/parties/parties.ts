import { isDeepStrictEqual } from 'node:util'
import type { AuditAction } from '#shared/audit-actions.ts'
import { textSearch } from '#shared/device-filter.ts'
import type { PartyBody, PartyState } from '#shared/wire/parties/parties.ts'
import { type Party, type PartyNames, readParty, toPartyBody } from '#shared/wire/parties/party-json.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'
import { type AuditRecord, differences, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { names, sentBody, storedRow, table } from '../db/table.ts'
import { syncCursors } from '../ledger/cursors.ts'
import { isSentEntity } from '../ledger/sent-entities.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'

const list = { type: 'array', cure: 'delete' } as const
export const partyTable = table('party', {
  care: {
    what: 'the parties of golfers with their carts',
    isRemembered: true,
    meaning: 'Carts of missing parties count as not given out; import the tee sheet again.',
  },
  json: {
    players: { ...list, cure: { set: "players = '[]'" } },
    drivers: { type: 'array', where: 'drivers IS NOT NULL', cure: 'null' },
    notes: { ...list, cure: { set: "notes = '[]'" } },
    carts: list,
    made_by: { type: 'object', where: 'made_by IS NOT NULL', cure: 'null' },
  },
  replicated: {
    columns: names(`party_id, date, tee_time_ms, start_hole, holes, external_id, source, until_ms, carts,
      made_by, created_at_ms, updated_at_ms`),
    times: ['tee_time_ms', 'until_ms', 'created_at_ms', 'updated_at_ms'],
    key: 't.party_id',
    where: 't.party_id = ?',
  },
  erases: { json: ['players', 'drivers', 'notes', 'carts', 'made_by'], texts: ['note'] },
})

export const nameDeletionTable = table('name_deletion', {
  care: {
    what: 'the last day on which names of golfers were deleted',
    isRemembered: true,
    meaning: 'Names that are due are deleted again after the next start.',
  },
})

type PartyRow = Omit<PartyBody, 'carts' | 'made_by'> & {
  carts: string
  made_by: string | null
  players: string
  drivers: string | null
  note: string | null
  notes: string
}

function toParty({ carts, made_by, players, drivers, note, notes, ...body }: PartyRow): Party {
  const stored: PartyNames = {
    players: JSON.parse(players),
    drivers: JSON.parse(drivers ?? '[]'),
    note,
    notes: JSON.parse(notes),
  }
  return readParty({ ...body, carts: JSON.parse(carts), made_by: JSON.parse(made_by ?? 'null') }, stored)
}

/** Reads rows with the names of the columns, which are those of the body for the hub. */
function readParties(connection: Connection, sql: string, ...values: (string | number)[]): Party[] {
  return connection
    .statement<PartyRow>(`SELECT * FROM party ${sql}`)
    .all(...values)
    .map(toParty)
}

const IS_OUT = `EXISTS (SELECT 1 FROM json_each(carts) WHERE value ->> 'returned_at_ms' IS NULL)`
const IN_STATE: Record<PartyState, string> = {
  booked: "carts = '[]'",
  out: IS_OUT,
  over: `carts <> '[]' AND NOT ${IS_OUT}`,
}

/** Parties with a cart that is out, and those that changed since. */
export function listLiveParties(connection: Connection, sinceMs: number): Party[] {
  return readParties(connection, `WHERE updated_at_ms >= ? OR ${IS_OUT} ORDER BY created_at_ms`, sinceMs)
}

export function findParty(connection: Connection, partyId: string): Party | undefined {
  return readParties(connection, 'WHERE party_id = ?', partyId)[0]
}

export function listPartiesOfDay(connection: Connection, date: string): Party[] {
  return readParties(connection, 'WHERE date = ?', date)
}

/** Last local day on which names were deleted. */
export function namesDeletedOn(connection: Connection): string | null {
  return connection.get<{ date: string }>('SELECT date FROM name_deletion')?.date ?? null
}

export interface PartyQuery {
  /** Local days, inclusive. */
  from?: string | undefined
  to?: string | undefined
  state?: PartyState | undefined
  cart?: string | undefined
  search?: string | undefined
  /** Carts that the caller sees; absent for all. */
  visible?: readonly string[] | undefined
  order: ListOrder
  limit: number
  offset: number
}

export function listParties({ connection }: Pick<ReaderTools, 'connection'>, query: PartyQuery): Party[] {
  const { from, to, state, cart, search = '', visible, order, limit, offset } = query
  const withCart = `EXISTS (SELECT 1 FROM json_each(carts) WHERE value ->> 'cart'`
  const conditions: [sql: string, ...values: string[]][] = [
    ...(from === undefined ? [] : [['date >= ?', from] satisfies [string, string]]),
    ...(to === undefined ? [] : [['date <= ?', to] satisfies [string, string]]),
    ...(state === undefined ? [] : [[IN_STATE[state]] satisfies [string]]),
    ...(cart === undefined ? [] : [[`${withCart} = ?)`, cart] satisfies [string, string]]),
    ...(visible === undefined
      ? []
      : [
          [`carts = '[]' OR ${withCart} IN (SELECT value FROM json_each(?)))`, JSON.stringify(visible)] satisfies [
            string,
            string,
          ],
        ]),
  ]
  const sql = `WHERE ${conditions.map(([one]) => `(${one})`).join(' AND ') || 'true'}
    ORDER BY tee_time_ms IS NULL, tee_time_ms ${order}, created_at_ms ${order}, rowid ${order}`
  const values = conditions.flatMap(([, ...some]) => some)
  if (search.trim() === '') return readParties(connection, `${sql} LIMIT ? OFFSET ?`, ...values, limit, offset)
  const isFound = textSearch(search)
  return readParties(connection, sql, ...values)
    .filter(({ players, externalId, carts }) => {
      const seen = carts.filter((one) => visible?.includes(one.cart) ?? true)
      const texts = [externalId, ...players, ...seen.flatMap((one) => [one.cart, one.driver])]
      return texts.some((text) => text !== null && isFound(text))
    })
    .slice(offset, offset + limit)
}

/** Overwrites deleted content, so that no name remains in the pages of the file. */
function overwriting<Result>({ db }: Connection, change: () => Result): Result {
  db.pragma('secure_delete = ON')
  try {
    return change()
  } finally {
    db.pragma('secure_delete = FAST')
  }
}

const COLUMNS = names(`party_id, date, tee_time_ms, start_hole, holes, players, note, external_id, source, until_ms,
  carts, drivers, notes, made_by, created_at_ms, updated_at_ms`)

/** Saves and deletes parties, all or none. */
export const saveParties = write(
  (connection: Connection, { saved, deleted }: { saved: readonly Party[]; deleted: readonly string[] }): null =>
    overwriting(connection, () => {
      for (const party of saved) {
        const body = toPartyBody(party)
        const drivers = party.carts.map(({ driver }) => driver)
        connection.run(
          `INSERT INTO party (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})
           ON CONFLICT DO UPDATE SET ${COLUMNS.map((name) => `${name} = excluded.${name}`).join(', ')}`,
          body.party_id,
          body.date,
          body.tee_time_ms,
          body.start_hole,
          body.holes,
          JSON.stringify(party.players),
          party.note,
          body.external_id,
          body.source,
          body.until_ms,
          JSON.stringify(body.carts),
          drivers.every((driver) => driver === null) ? null : JSON.stringify(drivers),
          JSON.stringify(party.notes),
          body.made_by && JSON.stringify(body.made_by),
          body.created_at_ms,
          body.updated_at_ms,
        )
      }
      for (const partyId of deleted) connection.run('DELETE FROM party WHERE party_id = ?', partyId)
      return null
    }),
  {
    audit: (connection, { saved, deleted }) => {
      const ids = [...saved.map(({ partyId }) => partyId), ...deleted]
      const before = ids.map((id) => auditedBody(connection, id))
      return () => ids.flatMap((id, i) => changeOf(id, before[i] ?? null, auditedBody(connection, id)))
    },
  },
)

type Body = Record<string, unknown>

/** Fields with names of golfers, as the audit log calls them. */
const PERSONAL = {
  players: 'players',
  drivers: 'driver',
  note: 'note',
  notes: 'notes',
  // goes with the names, and the booking system knows whose it is
  external_id: 'external_id',
} as const
const CHANGED = '(changed)'

/** Returns the fields of a party for the audit log; those with names are compared only. */
function auditedBody(connection: Connection, partyId: string): Body | null {
  const stored = storedRow(connection, partyTable, partyId)
  const row = connection.statement<PartyRow>('SELECT * FROM party WHERE party_id = ?').get(partyId)
  if (stored === undefined || row === undefined) return null
  const personal = Object.entries(PERSONAL).map(([column, name]) => [name, row[column as keyof typeof PERSONAL]])
  return { ...sentBody(partyTable, stored), ...Object.fromEntries(personal) }
}

/** Returns the audit record of a change, without names. */
function changeOf(target: string, before: Body | null, after: Body | null): AuditRecord[] {
  if (isDeepStrictEqual(before, after)) return []
  const [old, now] = differences(before, after)
  if (old === null && now === null) return []
  const happened = before === null ? 'created' : after === null ? 'deleted' : 'updated'
  const action: AuditAction = `party.${happened}`
  return [{ action, target, before: withoutNames(old), after: withoutNames(now) }]
}

function withoutNames(body: Body | null): Body | null {
  if (body === null) return null
  const hidden: readonly string[] = Object.values(PERSONAL)
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, hidden.includes(name) ? CHANGED : value]),
  )
}

/** Parties changed in one step, which takes some milliseconds. */
const STEP_ROWS = 500
const HAS_NAMES =
  "players <> '[]' OR note IS NOT NULL OR external_id IS NOT NULL OR drivers IS NOT NULL OR notes <> '[]'"

/** Deletes the names in some parties up to a local day; after the last ones records `today`. Returns the parties. */
export const deletePartyNames = write(
  (connection: Connection, { until, today, nowMs }: { until: string; today: string; nowMs: number }): Party[] =>
    overwriting(connection, () => {
      const rows = connection.all<{ partyId: string }>(
        `UPDATE party SET players = '[]', note = NULL, external_id = NULL, drivers = NULL, notes = '[]',
           updated_at_ms = ?
         WHERE party_id IN (SELECT party_id FROM party WHERE date <= ? AND (${HAS_NAMES}) LIMIT ?)
         RETURNING party_id AS partyId`,
        nowMs,
        until,
        STEP_ROWS,
      )
      if (rows.length < STEP_ROWS)
        connection.run('INSERT OR REPLACE INTO name_deletion (only, date) VALUES (1, ?)', today)
      return rows.flatMap(({ partyId }) => findParty(connection, partyId) ?? [])
    }),
  { audit: null },
)

/** Deletes some parties from before a local day, with `keepsUnsent` only those the hub has; returns their number. */
export const deletePartiesStep = write(
  (connection: Connection, { before, keepsUnsent }: { before: string; keepsUnsent: boolean }): number => {
    const isSent = keepsUnsent ? `AND ${isSentEntity('party', 'party_id')}` : ''
    return connection.run(
      `DELETE FROM party WHERE party_id IN (SELECT party_id FROM party WHERE date < ? ${isSent} ORDER BY date LIMIT ?)`,
      before,
      ...(keepsUnsent ? [syncCursors(connection).entities.seq] : []),
      STEP_ROWS,
    )
  },
  { audit: null },
)
