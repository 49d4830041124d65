import type { Component } from '#shared/lifecycle.ts'

/** Types of parameters; times and sequence numbers are numbers, bytes are Uint8Array. */
export type SqlValue = string | number | boolean | null | Uint8Array | readonly string[] | readonly number[]

/** Database, or a transaction of one. BIGINT is returned as a number, BYTEA as a Uint8Array. */
export interface Sql {
  all<Row>(text: string, values?: readonly SqlValue[]): Promise<Row[]>
  get<Row>(text: string, values?: readonly SqlValue[]): Promise<Row | undefined>
  /** Returns the number of changed rows. */
  run(text: string, values?: readonly SqlValue[]): Promise<number>
}

/** PostgreSQL, a compatible database, or PGlite in a folder. */
export interface Database extends Sql, Component {
  /** Repeats a transaction that failed because of a concurrent one (40001, 40P01): `work` must have no other effect. */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>
  /** Throws an `UnavailableError` if no server responds, or only one that accepts no writes. */
  requireWritable(): Promise<void>
  /** Connections to the server; undefined for a database in this process. */
  connections?(): ConnectionCounts
}

export interface ConnectionCounts {
  readonly used: number
  readonly idle: number
  /** Statements and transactions that wait for a connection. */
  readonly waiting: number
}

/**
 * Expression that casts a column of JSON for operators on its content. JSON may have U+0000 and halves of surrogate
 * pairs, which jsonb refuses for the whole statement: the expression replaces them, the column stays unchanged.
 */
export const JSON_BODY = `CAST(REPLACE(REPLACE(body, '\\u0000', '\\ufffd'), '\\ud', '\\ue') AS jsonb)`
