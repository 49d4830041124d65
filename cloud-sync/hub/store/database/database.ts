import type { Component } from '#shared/lifecycle.ts'

/** The types of parameters; times and sequence numbers are numbers, bytes are Uint8Array. */
export type SqlValue = string | number | boolean | null | Uint8Array | readonly string[] | readonly number[]

/** A database, or a transaction of one. BIGINT comes back as a number, BYTEA as a Uint8Array. */
export interface Sql {
  all<Row>(text: string, values?: readonly SqlValue[]): Promise<Row[]>
  get<Row>(text: string, values?: readonly SqlValue[]): Promise<Row | undefined>
  /** Returns how many rows it changed. */
  run(text: string, values?: readonly SqlValue[]): Promise<number>
}

/** PostgreSQL, a compatible database, or PGlite in a folder. */
export interface Database extends Sql, Component {
  /** Repeats a transaction that a concurrent one made fail (40001, 40P01): `work` must have no other effects. */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>
  /** Throws an `UnavailableError` when no server answers, or only one that takes no writes. */
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
 * What a column of JSON is for operators that look into it. JSON may have U+0000 and halves of characters, which jsonb
 * refuses for the whole statement: here they are replaced, the column stays as it came.
 */
export const JSON_BODY = `CAST(REPLACE(REPLACE(body, '\\u0000', '\\ufffd'), '\\ud', '\\ue') AS jsonb)`
