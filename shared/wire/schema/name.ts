import { z } from 'zod'
import { isOneLine, ONE_LINE_PATTERN } from '#shared/plain-text.ts'

const NAME_MAX = 200

/** Name or other text on one line: trimmed, 200 characters at most. For requests; stored names may predate the rule. */
export const oneLine = z
  .string()
  .trim()
  .max(NAME_MAX)
  .refine(isOneLine, 'must be one line without control characters')
  .meta({ pattern: ONE_LINE_PATTERN })
