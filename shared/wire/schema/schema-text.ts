import type { z } from 'zod'

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  tuple: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

const UNITS: Readonly<Record<string, string>> = {
  string: ' characters',
  array: ' items',
  object: ' keys',
  record: ' keys',
}

/** Start of zod's default messages, for schemas without a message of their own. */
const ZODS_WORDS = /^(Invalid|Too|Unrecognized) /

/** Describes an issue for a caller who does not know the schema library. */
export function schemaText(issue: z.core.$ZodIssue): string {
  if (!ZODS_WORDS.test(issue.message)) return issue.message
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPES[issue.expected] ?? 'of another type'}`
    case 'too_small':
      return bound(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum)
    case 'too_big':
      return bound(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum)
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of: ' : ''}${issue.values.map(String).join(', ')}`
    case 'invalid_format':
      return issue.pattern === undefined ? `must be a valid ${issue.format}` : `must match ${issue.pattern}`
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    case 'unrecognized_keys':
      return 'is not a field of this request'
    case 'invalid_union':
      return options(issue) ?? 'matches none of the permitted forms'
    case 'invalid_key':
      return 'has a key that is not permitted'
    default:
      return 'is not valid'
  }
}

/** Returns the permitted values of the discriminator; undefined for a union without one. */
function options(issue: z.core.$ZodIssueInvalidUnion): string | undefined {
  if (!('options' in issue) || !Array.isArray(issue.options) || issue.options.length === 0) return undefined
  return `must be one of: ${issue.options.map(String).join(', ')}`
}

function bound(origin: string, relation: string, limit: number | bigint): string {
  const unit = UNITS[origin]
  if (unit !== undefined && relation === 'at least' && limit === 1) return 'must not be empty'
  return unit === undefined ? `must be ${relation} ${limit}` : `must have ${relation} ${limit}${unit}`
}
