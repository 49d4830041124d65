import type { Connection } from './connection.ts'

/** More than is given to rows in any time between two backups: a number that was lost is not given again. */
export const SEQUENCE_GAP = 1_000_000

/** What is done with a row whose column is not the JSON it must be, after a copy of the row was set aside. */
export type JsonCure = 'null' | 'delete' | { readonly set: string }

/** JSON that a start parses: of rows that match `where`, if there is one. */
export interface CheckedJson {
  readonly type: 'object' | 'array'
  readonly where?: string
  readonly cure: JsonCure
}

/** How damage of a table is handled. */
export interface TableCare {
  /** Its content, for people. */
  readonly what: string
  /**
   * small, if absent: checked whole at the start. large: checked when a read or a write met damage. huge: as large, and
   * too much to be copied while devices wait: its indexes are made again, and reads go round its bad pages.
   */
  readonly size?: 'large' | 'huge'
  /** Its rows have checksums of their own: they are copied in spite of a wrong checksum of their page. */
  readonly hasOwnSums?: true
  /** The consequence of missing rows, for people. */
  readonly meaning: string
  /** The gateway has its rows in memory: while it runs the table is begun again only if none of them is missing. */
  readonly isRemembered?: true
  /** SQL that completes the database when rows are missing, in the transaction that begins the table again. */
  readonly afterLoss?: readonly string[]
}

/** How the rows of a table are replicated, each by its key; see `shared/wire/replication/replicated.ts`. */
export interface ReplicatedTable {
  /** Columns that are sent, never a secret. */
  readonly columns: readonly string[]
  /** Columns that hold 0 or 1. */
  readonly flags?: readonly string[]
  /** Columns of bytes, which are sent as base64. */
  readonly blobs?: readonly string[]
  /** Columns that are sent as true where they hold anything, and are absent otherwise: older rows compare equal. */
  readonly marks?: readonly string[]
  /** Columns with the time of a change. */
  readonly times?: readonly string[]
  /** The key as the triggers of the change log write it, of the row `t`. */
  readonly key: string
  /** Tables that the columns come from, this one as `t`; only itself if absent. */
  readonly from?: string
  /** A join that leaves out rows whose turn to be sent has not come. */
  readonly sentWith?: string
  /** The condition that finds a row by its key, and its values: the key itself if absent. */
  readonly where: string
  readonly valuesOf?: (key: string) => (string | number)[]
}

export interface TableDeclaration {
  readonly care: TableCare
  /** Columns of JSON; null for one that no start parses: it reads as null when it is not JSON. */
  readonly json?: Readonly<Record<string, CheckedJson | null>>
  readonly replicated?: ReplicatedTable
  /** Columns in which an erasure looks for a person or a code: JSON, and texts that people wrote. */
  readonly erases?: { readonly json?: readonly string[]; readonly texts?: readonly string[] }
  /** The table without whose row, of the same column, a row of this one is of no use. */
  readonly belongsTo?: readonly [column: string, table: string]
  /** The name of its rows in the audit log; that of the table if absent. */
  readonly noun?: string
}

/** A table of the database with all that the store knows of it. */
export interface Table<Name extends string = string> extends TableDeclaration {
  readonly name: Name
}

/** Declares a table. A new table is a migration, its declaration, and its line in `tables/all.ts`. */
export function table<Name extends string, Declaration extends TableDeclaration>(
  name: Name,
  declaration: Declaration,
): Declaration & { readonly name: Name } {
  return { name, ...declaration }
}

/** Names of columns, as SQL lists them. */
export function names(list: string): readonly string[] {
  return list.split(/,\s*/)
}

/** The body of a row as it is sent to the head office. */
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

/** The stored columns of the replicated row with this key; undefined when there is none. */
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

/** The body of the row with this key; null when there is none. */
export function bodyOfKey(connection: Connection, declared: Table, key: string): Record<string, unknown> | null {
  const stored = storedRow(connection, declared, key)
  return stored === undefined ? null : sentBody(declared, stored)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // a damaged cell must not hold up all that is sent behind it
    return null
  }
}
