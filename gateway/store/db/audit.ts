import { isDeepStrictEqual } from 'node:util'
import type { Origin } from '#domain/origin.ts'
import type { AuditAction } from '#shared/audit-actions.ts'
import type { Connection } from './connection.ts'
import { bodyOfKey, type Table } from './table.ts'

/** An act of a person for the audit log; without secrets. */
export interface AuditRecord {
  action: AuditAction
  /** The id of its object. */
  target: string
  /** The fields that changed, as they were; null for a new object. */
  before: object | null
  /** The same fields as they are; null for an object that is gone. */
  after: object | null
}

/** The person or program behind a write, and its time. */
export interface TimedActor extends Origin {
  readonly atMs: number
}

/** Runs before a write, and returns what enters its audit records after it; both in the transaction of the write. */
export type Audit<On extends Connection, Input, Result> = (
  connection: On,
  input: Input,
  origin: TimedActor,
) => (result: Result) => AuditRecord[]

interface WriteOptions<On extends Connection, Input, Result> {
  /** Null for a write that changes nothing a person decides. */
  audit: Audit<On, Input, Result> | null
  /** It changes blocks or the log of telemetry, whose rows have checksums of their own. */
  changesTelemetry?: true
}

/** A change of the database, run by the writer thread in a transaction of its own. */
export type Write<On extends Connection, Input, Result> = ((connection: On, input: Input) => Result) &
  WriteOptions<On, Input, Result>

/** Declares a write. `writer/writes.ts` collects them by the names of their exports. */
export function write<On extends Connection, Input, Result>(
  perform: (connection: On, input: Input) => Result,
  options: WriteOptions<On, Input, Result>,
): Write<On, Input, Result> {
  return Object.assign(perform, options)
}

/** Enters the fields of a replicated row that a write changed; nothing where it changed none. */
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

/** Enters, besides what `audit` enters, that a secret was replaced, and nothing else of it. */
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

/** The fields that differ; all fields of a row that is new or gone. Null and null when none differs. */
export function differences(before: Body | null, after: Body | null): [before: Body | null, after: Body | null] {
  if (before === null || after === null) return [before, after]
  const names = Object.keys(after).filter(
    (name) => name !== 'updated_at_ms' && !isDeepStrictEqual(before[name], after[name]),
  )
  if (names.length === 0) return [null, null]
  const pick = (body: Body) => Object.fromEntries(names.map((name) => [name, body[name]]))
  return [pick(before), pick(after)]
}

/** A record of an act that has no state before. */
export function event(action: AuditAction, target: string, after: object | null): AuditRecord {
  return { action, target, before: null, after }
}

/** The origin of an address whose path is a secret, as the audit log shows it. */
export function originOf(url: string): string {
  const { origin = '', pathname = '', search = '' } = URL.parse(url) ?? {}
  return pathname.length + search.length > 1 ? `${origin}/…` : origin
}
