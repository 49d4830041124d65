import { isDeepStrictEqual } from 'node:util'
import type { Origin } from '#domain/origin.ts'
import type { AuditAction } from '#shared/audit-actions.ts'
import type { Connection } from './connection.ts'
import { bodyOfKey, type Table } from './table.ts'

/** Act of a person for the audit log; contains no secrets. */
export interface AuditRecord {
  action: AuditAction
  /** Id of the changed object. */
  target: string
  /** Fields that changed, with their old values; null for a new object. */
  before: object | null
  /** The same fields with their new values; null for a deleted object. */
  after: object | null
}

/** Person or program that made a write, and its time. */
export interface TimedActor extends Origin {
  readonly atMs: number
}

/** Runs before a write and returns the maker of its audit records; both run in the transaction of the write. */
export type Audit<On extends Connection, Input, Result> = (
  connection: On,
  input: Input,
  origin: TimedActor,
) => (result: Result) => AuditRecord[]

interface WriteOptions<On extends Connection, Input, Result> {
  /** Null for a write that changes nothing a person decides. */
  audit: Audit<On, Input, Result> | null
  /** Set for writes that change blocks or the telemetry log, whose rows have checksums of their own. */
  changesTelemetry?: true
}

/** Change of the database, run by the writer thread in a transaction of its own. */
export type Write<On extends Connection, Input, Result> = ((connection: On, input: Input) => Result) &
  WriteOptions<On, Input, Result>

/** Declares a write. `writer/writes.ts` collects the writes by their export names. */
export function write<On extends Connection, Input, Result>(
  perform: (connection: On, input: Input) => Result,
  options: WriteOptions<On, Input, Result>,
): Write<On, Input, Result> {
  return Object.assign(perform, options)
}

/** Records the fields of a replicated row that a write changed; nothing if it changed none. */
export function changed<Input>(
  table: Table,
  keyOf: (input: Input, connection: Connection) => string,
): Audit<Connection, Input, unknown> {
  return (connection, input) => {
    const key = keyOf(input, connection)
    const before = bodyOfKey(connection, table, key)
    return () => {
      const [old, now] = differences(before, bodyOfKey(connection, table, key))
      if (old === null && now === null) return []
      const happened = before === null ? 'created' : now === null ? 'deleted' : 'updated'
      // a test compares these with the list of actions
      const action = `${table.noun ?? table.name}.${happened}` as AuditAction
      return [{ action, target: key, before: old, after: now }]
    }
  }
}

/** Adds an entry to those of `audit` that a secret was replaced, without its value. */
export function withSecret<Input>(
  actionOf: (input: Input) => AuditAction,
  audit: Audit<Connection, Input, unknown>,
  targetOf: (input: Input) => string | null,
): Audit<Connection, Input, unknown> {
  return (connection, input, origin) => {
    const end = audit(connection, input, origin)
    const target = targetOf(input)
    return (result) => [...end(result), ...(target === null ? [] : [event(actionOf(input), target, null)])]
  }
}

type Body = Record<string, unknown>

/** Fields that differ; all fields of a new or deleted row. `[null, null]` if none differs. */
export function differences(before: Body | null, after: Body | null): [before: Body | null, after: Body | null] {
  if (before === null || after === null) return [before, after]
  const names = Object.keys(after).filter(
    (name) => name !== 'updated_at_ms' && !isDeepStrictEqual(before[name], after[name]),
  )
  if (names.length === 0) return [null, null]
  const pick = (body: Body) => Object.fromEntries(names.map((name) => [name, body[name]]))
  return [pick(before), pick(after)]
}

/** Audit record of an act without a previous state. */
export function event(action: AuditAction, target: string, after: object | null): AuditRecord {
  return { action, target, before: null, after }
}

/** Origin of an address whose path is a secret, as shown in the audit log. */
export function originOf(url: string): string {
  const { origin = '', pathname = '', search = '' } = URL.parse(url) ?? {}
  return pathname.length + search.length > 1 ? `${origin}/…` : origin
}
