import type { AuditAction } from '#shared/audit-actions.ts'
import type { Party } from '#shared/wire/parties/parties.ts'
import { type PartyFilter, partyTest, readParty, splitParty } from '#shared/wire/parties/party-json.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'
import { type AuditRecord, differences, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { names, table } from '../db/table.ts'
import { syncCursors } from '../ledger/cursors.ts'
import { isSentEntity } from '../ledger/sent-entities.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'

export const partyTable = table('party', {
  care: {
    what: 'the parties of golfers with their carts',
    isRemembered: true,
    meaning: 'Carts of missing parties count as not given out; import the tee sheet again.',
  },
  json: {
    body: { type: 'object', cure: 'delete' },
    names: { type: 'object', where: 'names IS NOT NULL', cure: 'null' },
  },
  replicated: {
    columns: names('party_id, date, updated_at_ms, body'),
    times: ['updated_at_ms'],
    key: 't.party_id',
    where: 't.party_id = ?',
  },
  erases: { json: ['body', 'names'] },
})

export const nameDeletionTable = table('name_deletion', {
  care: {
    what: 'the last day on which names of golfers were deleted',
    isRemembered: true,
    meaning: 'Names that are due are deleted again after the next start.',
  },
})

interface PartyRow {
  body: string
  names: string | null
}

function toParty({ body, names: stored }: PartyRow): Party | undefined {
  return readParty(JSON.parse(body), JSON.parse(stored ?? 'null'))
}

function readParties(connection: Connection, sql: string, ...values: (string | number)[]): Party[] {
  return connection
    .all<PartyRow>(`SELECT body, names FROM party ${sql}`, ...values)
    .flatMap((row) => toParty(row) ?? [])
}

/** Parties with a cart that is out, and those that changed since. */
export function listLiveParties(connection: Connection, sinceMs: number): Party[] {
  const isAnyOut = `EXISTS (SELECT 1 FROM json_each(body, '$.carts') WHERE value ->> 'returned_at' IS NULL)`
  return readParties(connection, `WHERE updated_at_ms >= ? OR ${isAnyOut} ORDER BY rowid`, sinceMs)
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

export interface PartyQuery extends PartyFilter {
  /** Local days, inclusive. */
  from?: string | undefined
  to?: string | undefined
  order: ListOrder
  limit: number
  offset: number
}

export function listParties({ connection }: Pick<ReaderTools, 'connection'>, query: PartyQuery): Party[] {
  const { from = '', to = '~', order, limit, offset, ...filter } = query
  const teeTime = "body ->> 'tee_time'"
  const rows = connection.statement<PartyRow>(
    `SELECT body, names FROM party WHERE date BETWEEN ? AND ?
     ORDER BY ${teeTime} IS NULL, ${teeTime} ${order}, body ->> 'created_at' ${order}, rowid ${order}`,
  )
  const isWanted = partyTest(filter)
  const found: Party[] = []
  for (const row of rows.iterate(from, to)) {
    const party = toParty(row)
    if (party !== undefined && isWanted(party)) found.push(party)
    if (found.length === offset + limit) break
  }
  return found.slice(offset)
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

function save(connection: Connection, party: Party): void {
  const { body, names: stored } = splitParty(party)
  connection.run(
    `INSERT INTO party (party_id, date, updated_at_ms, body, names) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET date = excluded.date, updated_at_ms = excluded.updated_at_ms, body = excluded.body,
       names = excluded.names`,
    party.party_id,
    party.date,
    Date.parse(party.updated_at),
    JSON.stringify(body),
    stored && JSON.stringify(stored),
  )
}

/** Parties that replace the stored ones, and ids of others to delete. */
export interface PartyChanges {
  saved: readonly Party[]
  deleted: readonly string[]
}

/** Saves and deletes parties, all or none. */
export const saveParties = write(
  (connection: Connection, { saved, deleted }: PartyChanges): null =>
    overwriting(connection, () => {
      for (const party of saved) save(connection, party)
      for (const partyId of deleted) connection.run('DELETE FROM party WHERE party_id = ?', partyId)
      return null
    }),
  {
    audit: (connection, { saved, deleted }) => {
      const ids = [...saved.map(({ party_id }) => party_id), ...deleted]
      const before = new Map(ids.map((id) => [id, auditedFields(connection, id)]))
      return () => ids.flatMap((id) => changeOf(id, before.get(id) ?? null, auditedFields(connection, id)))
    },
  },
)

type Fields = Record<string, unknown>

/** Fields with names of golfers; the id of a booking system goes with them. */
const PERSONAL = ['players', 'driver', 'note', 'notes', 'external_id']

function auditedFields(connection: Connection, partyId: string): Fields | null {
  const party = findParty(connection, partyId)
  if (party === undefined) return null
  const { carts, updated_at: _, ...fields } = party
  return {
    ...fields,
    carts: carts.map(({ driver: __, ...cart }) => cart),
    driver: carts.map(({ driver }) => driver),
  }
}

/** Returns the audit record of a change, without names. */
function changeOf(target: string, before: Fields | null, after: Fields | null): AuditRecord[] {
  const [old, now] = differences(before, after)
  if (old === null && now === null) return []
  const action: AuditAction = `party.${before === null ? 'created' : after === null ? 'deleted' : 'updated'}`
  return [{ action, target, before: withoutNames(old), after: withoutNames(now) }]
}

function withoutNames(fields: Fields | null): Fields | null {
  const hidden = Object.keys(fields ?? {}).filter((name) => PERSONAL.includes(name))
  return fields && { ...fields, ...Object.fromEntries(hidden.map((name) => [name, '(changed)'])) }
}

/** Parties changed in one step, which takes some milliseconds. */
const STEP_ROWS = 500

/** Deletes the names in some parties up to a local day; after the last ones records `today`. Returns the parties. */
export const deletePartyNames = write(
  (connection: Connection, { until, today, now }: { until: string; today: string; now: string }): Party[] =>
    overwriting(connection, () => {
      const due = readParties(connection, 'WHERE date <= ? AND names IS NOT NULL LIMIT ?', until, STEP_ROWS)
      const blanked = due.map((party): Party => {
        const carts = party.carts.map((one) => ({ ...one, driver: null }))
        return { ...party, carts, players: [], note: null, external_id: null, notes: [], updated_at: now }
      })
      for (const party of blanked) save(connection, party)
      if (due.length < STEP_ROWS)
        connection.run('INSERT OR REPLACE INTO name_deletion (only, date) VALUES (1, ?)', today)
      return blanked
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
