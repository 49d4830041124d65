import { z } from 'zod'
import { parseIso } from '../time.ts'

/** Reports a wrong parameter under a stable code of our own (`errors[].code` in the answer). */
function fail(ctx: z.RefinementCtx, code: string, message: string): typeof z.NEVER {
  ctx.addIssue({ code: 'custom', message, params: { code } })
  return z.NEVER
}

/** The `:id` of a device's paths. */
export const deviceIdParams = z.object({
  id: z.string().meta({ description: 'hardware_id or short_id' }),
})

/** A whole number written in digits only, within `min` and `max`, both included. */
export function wholeNumber(min: number, max: number) {
  return z.string().transform((text, ctx) => {
    const value = Number(text)
    if (/^\d{1,16}$/.test(text) && value >= min && value <= max) return value
    return fail(ctx, 'invalid_number', `must be a whole number from ${min} to ${max}`)
  })
}

export const offsetParam = wholeNumber(0, Number.MAX_SAFE_INTEGER).default(0)
export const pageLimitParam = wholeNumber(1, 1000).default(100)

/** A page of a list. */
export const pageQuerySchema = z.object({ limit: pageLimitParam, offset: offsetParam })

/** A date parameter, read into milliseconds since 1970. */
export const dateParam = z.string().transform((text, ctx) => {
  return parseIso(text) ?? fail(ctx, 'invalid_date', 'must be an ISO 8601 date, such as 2026-05-01T08:30:00Z')
})

/** One of a few words; anything else is refused under `code`, with the words. */
export function choiceParam<Choice extends string>(choices: readonly Choice[], code: string) {
  return z.string().transform((text, ctx) => {
    const choice = choices.find((one) => one === text)
    return choice ?? fail(ctx, code, `must be one of: ${choices.join(', ')}`)
  })
}

/** A list given repeated or comma-separated; trimmed, without duplicates, never empty. */
export const stringListParam = z.union([z.string(), z.array(z.string())]).transform((value, ctx) => {
  const items = [value]
    .flat()
    .flatMap((text) => text.split(','))
    .map((text) => text.trim())
  const distinct = new Set(items.filter((item) => item !== ''))
  return distinct.size > 0 ? [...distinct] : fail(ctx, 'empty_list', 'must name at least one, or be left out')
})

export const paginationSchema = z.object({
  limit: z.number().int(),
  offset: z.number().int(),
  returned: z.number().int().meta({ description: 'Items in this page; fewer than limit on the last one.' }),
})

export const isoSchema = z
  .string()
  .meta({ description: 'ISO 8601, UTC, milliseconds.', example: '2026-05-01T08:30:00.000Z' })
