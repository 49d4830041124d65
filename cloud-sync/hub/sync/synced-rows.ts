import type { z } from 'zod'
import { describeError } from '#shared/errors.ts'
import { isNestedTooDeep } from '#shared/json-body.ts'

/** Row that fits its schema, with all its fields. */
export interface ValidRow<Row> {
  readonly row: Row
  /** JSON of the row as the gateway sent it, without its position. */
  readonly body: string
}

/** Row that does not fit, as the gateway sent it. */
export interface InvalidRow {
  readonly reason: string
  readonly body: Uint8Array
}

/** Separates rows that fit the schema from those that do not; unknown fields are kept. */
export function readRows<Row>(
  schema: z.ZodType<Row>,
  rows: readonly unknown[],
): { good: ValidRow<Row>[]; bad: InvalidRow[] } {
  const good: ValidRow<Row>[] = []
  const bad: InvalidRow[] = []
  for (const row of rows) {
    const problem = findProblem(schema, row)
    if (problem === undefined) {
      // the schema only validates: the output of zod may have its fields in another order
      const { seq: _, ...body } = row as { seq: unknown }
      good.push({ row: row as Row, body: JSON.stringify(body) })
    } else {
      bad.push(badRow(row, problem))
    }
  }
  return { good, bad }
}

/** Returns the row for the quarantine. */
export function badRow(row: unknown, reason: string): InvalidRow {
  return { reason, body: Buffer.from(isNestedTooDeep(row) ? 'nested too deep' : JSON.stringify(row)) }
}

function findProblem(schema: z.ZodType, row: unknown): string | undefined {
  if (isNestedTooDeep(row)) return 'nested too deep'
  const parsed = schema.safeParse(row)
  if (!parsed.success) return describeError(parsed.error)
  const text = Object.values(row as object).find((value) => typeof value === 'string' && !isStorable(value))
  return text === undefined ? undefined : 'a text no database can hold'
}

/** PostgreSQL accepts no U+0000 in texts, and would replace half of a surrogate pair. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}
