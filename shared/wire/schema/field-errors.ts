import type { z } from 'zod'
import { type FieldError, fieldPath } from '#shared/errors.ts'
import { schemaText } from './schema-text.ts'

/** Message for a single-valued parameter with several values. */
export const GIVEN_TWICE = 'must be given only once'

/** Converts an issue of a schema to errors by field. */
export function fieldErrors(target: FieldError['in'], issue: z.core.$ZodIssue, sent: unknown): FieldError[] {
  if (issue.code === 'unrecognized_keys') {
    const detail = schemaText(issue)
    return issue.keys.map((key) => ({
      in: target,
      name: fieldPath([...issue.path, key]),
      code: 'unknown_field',
      detail,
    }))
  }
  const name = fieldPath(issue.path) || 'body'
  const detail = schemaText(issue)
  if (issue.code === 'custom' && typeof issue.params?.code === 'string') {
    return [{ in: target, name, code: issue.params.code, detail }]
  }
  const value = valueAt(sent, issue.path)
  if (target === 'query' && Array.isArray(value)) {
    return [{ in: target, name, code: 'invalid_parameter', detail: GIVEN_TWICE }]
  }
  const isMissing = issue.code === 'invalid_type' && value === undefined
  if (isMissing) {
    return [
      {
        in: target,
        name,
        code: target === 'query' ? 'missing_parameter' : 'missing_field',
        detail: 'is required',
      },
    ]
  }
  return [{ in: target, name, code: target === 'query' ? 'invalid_parameter' : 'invalid_field', detail }]
}

// zod's issues do not contain the value
function valueAt(sent: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined,
    sent,
  )
}
