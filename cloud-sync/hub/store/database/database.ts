import type { Part } from '#shared/lifecycle.ts'

/** What PostgreSQL takes as a parameter here; times and sequence numbers are numbers, bytes are Uint8Array. */
export type SqlValue = string | number | boolean | null | Uint8Array | readonly string[] | readonly number[]

/** A database, or a transaction of one. BIGINT comes back as a number, BYTEA as a Uint8Array. */
export interface Sql {
  all<Row>(text: string, values?: readonly SqlValue[]): Promise<Row[]>
  get<Row>(text: string, values?: readonly SqlValue[]): Promise<Row | undefined>
  /** Returns how many rows it changed. */
  run(text: string, values?: readonly SqlValue[]): Promise<number>
}

/** PostgreSQL, something that speaks like it, or PGlite in a folder. */
export interface Database extends Sql, Part {
  /** Runs again what the database broke off to keep transactions apart (40001, 40P01): `work` must not act elsewhere. */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>
}

/**
 * What a column of JSON is for operators that look into it. JSON may have U+0000 and halves of characters, which jsonb
 * refuses for the whole statement: here they are replaced, the column stays as it came.
 */
export const JSON_BODY = `CAST(REPLACE(REPLACE(body, '\\u0000', '\\ufffd'), '\\ud', '\\ue') AS jsonb)`
