import { z } from 'zod'
import { parseIso } from '#shared/time.ts'

/** Reports a wrong parameter under a stable code of our own (`errors[].code` in the answer). */
function fail(ctx: z.RefinementCtx, code: string, message: string): typeof z.NEVER {
  ctx.addIssue({ code: 'custom', message, params: { code } })
  return z.NEVER
}

/** A device's primary name; `isHardwareId` says which are valid. */
export const hardwareIdSchema = z.string().meta({
  description: 'The name of the device everywhere: in this API, as MQTT user name, and in its topics.',
  example: 'cart-07',
})

/** The `:id` of a device's paths. */
export const deviceIdParams = z.object({
  id: z.string().meta({ description: 'hardware_id or short_id', example: 'cart-07' }),
})

/** A whole number written in digits only, within `min` and `max`, both included. */
export function wholeNumber(min: number, max: number) {
  const number = z.string().transform((text, ctx) => {
    const value = Number(text)
    if (/^\d{1,16}$/.test(text) && value >= min && value <= max) return value
    return fail(ctx, 'invalid_number', `must be a whole number from ${min} to ${max}`)
  })
  return number.meta({ type: 'integer', minimum: min, maximum: max })
}

/** A number from 0 to `max`, both included, written in digits and at most one point. */
export function numberParam(max = Number.MAX_SAFE_INTEGER) {
  const number = z.string().transform((text, ctx) => {
    const value = Number(text)
    if (/^\d{1,16}(\.\d{1,16})?$/.test(text) && value <= max) return value
    const range = max === Number.MAX_SAFE_INTEGER ? 'of at least 0' : `from 0 to ${max}`
    return fail(ctx, 'invalid_number', `must be a number ${range}`)
  })
  return number.meta({ type: 'number', minimum: 0, maximum: max })
}

/** Items to skip. What is beyond the exact whole numbers is read as the last of them: it is past every end. */
const offsetParam = z
  .string()
  .transform((text, ctx) =>
    /^\d+$/.test(text)
      ? Math.min(Number(text), Number.MAX_SAFE_INTEGER)
      : fail(ctx, 'invalid_number', 'must be a whole number of at least 0'),
  )
  .meta({ type: 'integer', minimum: 0 })
  .default(0)
  .meta({ description: 'Items to skip; of a list that has fewer, none is returned.' })
const pageLimitParam = wholeNumber(1, 1000).default(100).meta({ description: 'Items in a page.' })

const LIST_ORDERS = ['asc', 'desc'] as const
export type ListOrder = (typeof LIST_ORDERS)[number]

/** The order of a list; `what` says by what, in a sentence. */
function orderParam(preset: ListOrder, what: string) {
  return choiceParam(LIST_ORDERS, 'invalid_parameter').default(preset).meta({ description: what })
}

/** The form of a list; `shared/http/list-route.ts` makes the file. */
const tableFormatParam = choiceParam(['json', 'csv'], 'invalid_format')
  .optional()
  .meta({ description: 'In place of Accept; csv is a file of the same rows.' })

/** The query of a list that is answered whole. */
export function listQuery(preset: ListOrder, what: string) {
  return z.object({ order: orderParam(preset, what), format: tableFormatParam })
}

/** The query of a list that is answered in pages. */
export function pageQuery(preset: ListOrder, what: string) {
  return listQuery(preset, what).extend({ limit: pageLimitParam, offset: offsetParam })
}

const BY_TIME = 'By time: desc is newest first, asc oldest first.'

/** A page of what happened, by time; `idName` names what `before` takes. */
export function eventPageQuery(idName: string) {
  return pageQuery('desc', BY_TIME).extend({
    before: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .meta({
        description: `Only what is older than the item with this ${idName}: with that of the last item of a page, the next page.`,
      }),
  })
}

/** A list that is answered whole, by id. */
export const idListQuerySchema = listQuery('asc', 'By id: asc or desc.')

/** A page of a list by id. */
export const idPageQuerySchema = pageQuery('asc', 'By id: asc or desc.')

/** A page of what happened, newest first. */
export const newestPageQuerySchema = pageQuery('desc', BY_TIME)

/** A list that is answered whole, by the time something was made. */
export const oldestListQuerySchema = listQuery('asc', 'By created_at: asc is oldest first.')

const SEARCH_MAX = 64

/** A part of a text that is searched for; `what` says of which, in a sentence. */
export function searchParam(what: string) {
  return z
    .string()
    .superRefine((text, ctx) => {
      // as JSON Schema counts: an emoji is one character
      if (text.length <= SEARCH_MAX || [...text].length <= SEARCH_MAX) return
      fail(ctx, 'invalid_parameter', `must be at most ${SEARCH_MAX} characters`)
    })
    .meta({ maxLength: SEARCH_MAX, description: what, example: 'cart' })
}

/** A date parameter, read into milliseconds since 1970. */
export const dateParam = z
  .string()
  .transform((text, ctx) => {
    return parseIso(text) ?? fail(ctx, 'invalid_date', 'must be an ISO 8601 date, such as 2026-05-01T08:30:00Z')
  })
  .meta({
    format: 'date-time',
    description: 'ISO 8601, included; UTC unless it has an offset; a date alone is its midnight.',
    example: '2026-05-01T08:30:00Z',
  })

/** A month by the calendar. */
export const monthParam = z
  .string()
  .transform((text, ctx) =>
    /^\d{4}-(0[1-9]|1[0-2])$/.test(text) ? text : fail(ctx, 'invalid_month', 'must be a month, such as 2026-05'),
  )
  .meta({
    pattern: '^\\d{4}-(0[1-9]|1[0-2])$',
    description: 'A month by the clocks of the site.',
    example: '2026-05',
  })

/** One of a few words; anything else is refused under `code`, with the words. */
export function choiceParam<Choice extends string>(choices: readonly Choice[], code: string) {
  const choice = z.string().transform((text, ctx) => {
    const chosen = choices.find((one) => one === text)
    return chosen ?? fail(ctx, code, `must be one of: ${choices.join(', ')}`)
  })
  return choice.meta({ enum: [...choices] })
}

/** A list given repeated or comma-separated; trimmed, without duplicates, never empty. */
export const stringListParam = z
  .union([z.string(), z.array(z.string())])
  .transform((value, ctx) => {
    const items = [value]
      .flat()
      .flatMap((text) => text.split(','))
      .map((text) => text.trim())
    const distinct = new Set(items.filter((item) => item !== ''))
    return distinct.size > 0 ? [...distinct] : fail(ctx, 'empty_list', 'must name at least one, or be left out')
  })
  .meta({
    type: 'array',
    items: { type: 'string' },
    minItems: 1,
    description: 'Repeated or comma-separated.',
    example: ['cart-07', 'cart-08'],
  })

export const paginationSchema = z
  .object({
    limit: z.number().int().meta({ description: 'As asked for.', example: 100 }),
    offset: z.number().int().meta({ description: 'As asked for.', example: 0 }),
    returned: z
      .number()
      .int()
      .meta({ description: 'Items in this page; fewer than limit on the last one.', example: 42 }),
  })
  .meta({ id: 'Pagination' })

/** Of what outlives its device. */
export const removedSchema = z.literal(true).optional().meta({
  description: 'Only present when the device was deleted since. A device registered again is another one.',
})

export const isoSchema = z.string().meta({
  format: 'date-time',
  description: 'ISO 8601, UTC, milliseconds.',
  example: '2026-05-01T08:30:00.000Z',
})
