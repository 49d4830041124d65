import type { AuditAction } from '#shared/audit-actions.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'
import type { ServiceEntry, StoredPlan } from '#shared/wire/service/service.ts'
import { type Audit, differences, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { names, table } from '../db/table.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'

export const serviceEntryTable = table('service_entry', {
  care: { what: 'the service book', meaning: 'Missing entries must be made again; a service may be due too early.' },
  json: { entry: { type: 'object', cure: 'delete' } },
  replicated: {
    columns: names('entry_id, cart, plan_id, done_at_ms, updated_at_ms, entry'),
    times: ['updated_at_ms'],
    key: 't.entry_id',
    where: 't.entry_id = ?',
  },
  erases: { json: ['entry'] },
})

export const servicePlanTable = table('service_plan', {
  care: { what: 'the service plans', meaning: 'No service is due by a missing plan until it is made again.' },
  json: { plan: { type: 'object', cure: 'delete' } },
  replicated: {
    columns: names('plan_id, updated_at_ms, plan'),
    times: ['updated_at_ms'],
    key: 't.plan_id',
    where: 't.plan_id = ?',
  },
  erases: { json: ['plan'] },
})

export interface EntryQuery {
  cart?: string | undefined
  planId?: string | undefined
  /** Times of the service, inclusive. */
  fromMs?: number | undefined
  toMs?: number | undefined
  /** Carts that the caller sees; absent for all. */
  visible?: readonly string[] | undefined
  order: ListOrder
  limit: number
  offset: number
}

export function listServiceEntries(
  { connection }: Pick<ReaderTools, 'connection'>,
  { cart, planId, fromMs = 0, toMs = Number.MAX_SAFE_INTEGER, visible, order, limit, offset }: EntryQuery,
): ServiceEntry[] {
  const wanted = [cart, planId].flatMap((value) => [value ?? null, value ?? null])
  const seen = visible === undefined ? null : JSON.stringify(visible)
  return readEntries(
    connection,
    `WHERE (? IS NULL OR cart = ?) AND (? IS NULL OR plan_id = ?) AND done_at_ms BETWEEN ? AND ?
       AND (? IS NULL OR cart IN (SELECT value FROM json_each(?)))
     ORDER BY done_at_ms ${order}, rowid ${order} LIMIT ? OFFSET ?`,
    ...wanted,
    fromMs,
    toMs,
    seen,
    seen,
    limit,
    offset,
  )
}

/** Newest entry of each cart and plan. */
export function lastServices(connection: Connection): ServiceEntry[] {
  // the row of the maximum
  return readEntries(connection, 'WHERE plan_id IS NOT NULL GROUP BY cart, plan_id HAVING max(done_at_ms) IS NOT NULL')
}

export function findServiceEntry(connection: Connection, entryId: string): ServiceEntry | undefined {
  return readEntries(connection, 'WHERE entry_id = ?', entryId)[0]
}

function readEntries(connection: Connection, sql: string, ...values: (string | number | null)[]): ServiceEntry[] {
  const rows = connection.all<{ entry: string }>(`SELECT entry FROM service_entry ${sql}`, ...values)
  return rows.map(({ entry }) => JSON.parse(entry))
}

/** Plans, oldest first. */
export function listServicePlans(connection: Connection): StoredPlan[] {
  const rows = connection.all<{ plan: string }>('SELECT plan FROM service_plan ORDER BY rowid')
  return rows.map(({ plan }) => JSON.parse(plan))
}

/** Audit of an entry or a plan; notes of staff stay out, as those of golfers do. */
function audited<Input>(
  noun: 'service_entry' | 'service_plan',
  idOf: (input: Input) => string,
  find: (connection: Connection, id: string) => object | undefined,
): Audit<Connection, Input, unknown> {
  return (connection, input) => {
    const id = idOf(input)
    const before = find(connection, id) ?? null
    return () => {
      const after = find(connection, id) ?? null
      const [old, now] = differences(before && { ...before }, after && { ...after })
      if (old === null && now === null) return []
      const action: AuditAction = `${noun}.${before === null ? 'created' : after === null ? 'deleted' : 'updated'}`
      return [{ action, target: id, before: withoutNote(old), after: withoutNote(now) }]
    }
  }
}

function withoutNote(fields: Record<string, unknown> | null): object | null {
  return fields !== null && typeof fields.note === 'string' ? { ...fields, note: '(changed)' } : fields
}

const auditEntry = audited(
  'service_entry',
  ({ entry_id }: Pick<ServiceEntry, 'entry_id'>) => entry_id,
  findServiceEntry,
)
const auditPlan = audited(
  'service_plan',
  ({ plan_id }: Pick<StoredPlan, 'plan_id'>) => plan_id,
  (connection, id) => {
    const { counts_from: _, ...plan } = listServicePlans(connection).find(({ plan_id }) => plan_id === id) ?? {}
    return 'plan_id' in plan ? plan : undefined
  },
)

export interface SavedEntry {
  entry: ServiceEntry
  nowMs: number
}

/** Services are judged again soon, even after a stop. */
export function judgeAgain(connection: Connection): null {
  connection.run('UPDATE service_days SET judged_on = NULL')
  return null
}

export const saveServiceEntry = write(
  (connection: Connection, { entry, nowMs }: SavedEntry): null => {
    connection.run(
      `INSERT INTO service_entry (entry_id, cart, plan_id, done_at_ms, updated_at_ms, entry) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET plan_id = excluded.plan_id, done_at_ms = excluded.done_at_ms,
         updated_at_ms = excluded.updated_at_ms, entry = excluded.entry`,
      entry.entry_id,
      entry.cart,
      entry.plan_id,
      Date.parse(entry.done_at),
      nowMs,
      JSON.stringify(entry),
    )
    return judgeAgain(connection)
  },
  { audit: (connection, { entry }, origin) => auditEntry(connection, entry, origin) },
)

export const deleteServiceEntry = write(
  (connection: Connection, { entry_id }: Pick<ServiceEntry, 'entry_id'>): null => {
    connection.run('DELETE FROM service_entry WHERE entry_id = ?', entry_id)
    return judgeAgain(connection)
  },
  { audit: auditEntry },
)

export const saveServicePlan = write(
  (connection: Connection, { plan, nowMs }: { plan: StoredPlan; nowMs: number }): null => {
    connection.run(
      `INSERT INTO service_plan (plan_id, updated_at_ms, plan) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET updated_at_ms = excluded.updated_at_ms, plan = excluded.plan`,
      plan.plan_id,
      nowMs,
      JSON.stringify(plan),
    )
    return judgeAgain(connection)
  },
  { audit: (connection, { plan }, origin) => auditPlan(connection, plan, origin) },
)

export const deleteServicePlan = write(
  (connection: Connection, { plan_id }: Pick<StoredPlan, 'plan_id'>): null => {
    connection.run('DELETE FROM service_plan WHERE plan_id = ?', plan_id)
    return judgeAgain(connection)
  },
  { audit: auditPlan },
)
