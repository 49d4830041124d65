import { z } from 'zod'
import { isOneLine, ONE_LINE_PATTERN } from '#shared/plain-text.ts'

const NAME_MAX = 200

/** Name or other text on one line: trimmed, 200 characters at most. For requests; stored names may predate the rule. */
export const oneLine = oneLineUpTo(NAME_MAX)

export function oneLineUpTo(max: number) {
  return z
    .string()
    .trim()
    .max(max)
    .refine(isOneLine, 'must be one line without control characters')
    .meta({ pattern: ONE_LINE_PATTERN })
}
