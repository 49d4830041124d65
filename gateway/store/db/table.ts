import type { Connection } from './connection.ts'

/** Gap after lost sequence numbers: larger than the rows inserted between two backups, so none is assigned again. */
export const SEQUENCE_GAP = 1_000_000

/** Repair of a row whose column does not hold valid JSON, after a copy of the row was quarantined. */
export type JsonCure = 'null' | 'delete' | { readonly set: string }

/** JSON that is parsed at the start: of rows that match `where`, if given. */
export interface CheckedJson {
  readonly type: 'object' | 'array'
  readonly where?: string
  readonly cure: JsonCure
}

/** Rules for handling damage of a table. */
export interface TableCare {
  /** Content of the table, for people. */
  readonly what: string
  /**
   * Absent: small, checked completely at the start. large: checked when a read or write met damage. huge: like large,
   * and too big to copy while devices wait: indexes are rebuilt, and reads skip damaged pages.
   */
  readonly size?: 'large' | 'huge'
  /** The rows have checksums of their own: they are copied in spite of a wrong page checksum. */
  readonly hasOwnSums?: true
  /** The consequence of missing rows, for people. */
  readonly meaning: string
  /** The gateway holds the rows in memory: while it runs the table is recreated only if no row is missing. */
  readonly isRemembered?: true
  /** SQL that completes the database when rows are missing, in the transaction that recreates the table. */
  readonly afterLoss?: readonly string[]
}

/** Replication of the rows of a table by key; see `shared/wire/replication/replicated.ts`. */
export interface ReplicatedTable {
  /** Columns that are sent; never a secret. */
  readonly columns: readonly string[]
  /** Columns that hold 0 or 1. */
  readonly flags?: readonly string[]
  /** Columns of bytes; sent as base64. */
  readonly blobs?: readonly string[]
  /** Columns that are sent as true if not null, and absent otherwise, so that older rows compare equal. */
  readonly marks?: readonly string[]
  /** Columns with the time of a change. */
  readonly times?: readonly string[]
  /** Key of the row `t`, as the triggers of the change log write it. */
  readonly key: string
  /** Tables of the columns, this one as `t`; default only this table. */
  readonly from?: string
  /** Join that leaves out rows that may not be sent yet. */
  readonly sentWith?: string
  /** Condition that finds a row by its key, with the values of `valuesOf`; default the key itself. */
  readonly where: string
  readonly valuesOf?: (key: string) => (string | number)[]
}

export interface TableDeclaration {
  readonly care: TableCare
  /** Columns of JSON; null for one that is not parsed at the start and reads as null if it is invalid. */
  readonly json?: Readonly<Record<string, CheckedJson | null>>
  readonly replicated?: ReplicatedTable
  /** Columns that an erasure searches for a person or a code: JSON, and texts that people wrote. */
  readonly erases?: { readonly json?: readonly string[]; readonly texts?: readonly string[] }
  /** Parent table: a row of this table is useless without a row of that table with the same value of the column. */
  readonly belongsTo?: readonly [column: string, table: string]
  /** Name of the rows in the audit log; default the name of the table. */
  readonly noun?: string
}

/** Table of the database with everything that the store declares about it. */
export interface Table<Name extends string = string> extends TableDeclaration {
  readonly name: Name
}

/** Declares a table. A new table needs a migration, a declaration, and a line in `tables/all.ts`. */
export function table<Name extends string, Declaration extends TableDeclaration>(
  name: Name,
  declaration: Declaration,
): Declaration & { readonly name: Name } {
  return { name, ...declaration }
}

/** Splits an SQL list of column names. */
export function names(list: string): readonly string[] {
  return list.split(/,\s*/)
}

/** Body of a row as it is sent to the hub. */
export function sentBody(
  { replicated, json = {}, name }: Table,
  stored: Record<string, unknown>,
): Record<string, unknown> {
  if (replicated === undefined) throw new Error(`${name} is not replicated`)
  const { columns, flags = [], blobs = [], marks = [] } = replicated
  const body: Record<string, unknown> = {}
  for (const column of columns) {
    const value = stored[column]
    if (column in json) body[column] = typeof value === 'string' ? parsed(value) : null
    else if (flags.includes(column)) body[column] = value === 1
    else if (blobs.includes(column)) body[column] = value instanceof Buffer ? value.toString('base64') : null
    else if (marks.includes(column)) Object.assign(body, value === null ? {} : { [column]: true })
    else body[column] = value
  }
  return body
}

/** Stored columns of the replicated row with this key; undefined if none exists. */
export function storedRow(
  connection: Connection,
  { replicated, name }: Table,
  key: string,
): Record<string, unknown> | undefined {
  if (replicated === undefined) throw new Error(`${name} is not replicated`)
  const { columns, from = `${name} t`, sentWith = '', where, valuesOf } = replicated
  return connection
    .statement<Record<string, unknown>>(`SELECT ${columns.join(', ')} FROM ${from} ${sentWith} WHERE ${where}`)
    .get(...(valuesOf?.(key) ?? [key]))
}

/** Body of the row with this key; null if none exists. */
export function bodyOfKey(connection: Connection, declared: Table, key: string): Record<string, unknown> | null {
  const stored = storedRow(connection, declared, key)
  return stored === undefined ? null : sentBody(declared, stored)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // a damaged cell must not block all later changes from being sent
    return null
  }
}
