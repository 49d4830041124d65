import { z } from 'zod'
import { parseIso } from '#shared/time.ts'

/** Reports an invalid parameter with a stable code of this API (`errors[].code` in the response). */
function fail(ctx: z.RefinementCtx, code: string, message: string): typeof z.NEVER {
  ctx.addIssue({ code: 'custom', message, params: { code } })
  return z.NEVER
}

/** Primary name of a device; `isHardwareId` defines the valid ones. */
export const hardwareIdSchema = z.string().meta({
  description: 'Primary id of the device: in this API, as MQTT user name, and in its topics.',
  example: 'cart-07',
})

export const deviceIdParams = z.object({
  id: z.string().meta({ description: 'hardware_id or short_id', example: 'cart-07' }),
})

/** Whole number written in digits only, from `min` to `max` inclusive. */
export function wholeNumber(min: number, max: number) {
  const number = z.string().transform((text, ctx) => {
    const value = Number(text)
    if (/^\d{1,16}$/.test(text) && value >= min && value <= max) return value
    return fail(ctx, 'invalid_number', `must be a whole number from ${min} to ${max}`)
  })
  return number.meta({ type: 'integer', minimum: min, maximum: max })
}

/** Number from 0 to `max` inclusive, written in digits with at most one decimal point. */
export function numberParam(max = Number.MAX_SAFE_INTEGER) {
  const number = z.string().transform((text, ctx) => {
    const value = Number(text)
    if (/^\d{1,16}(\.\d{1,16})?$/.test(text) && value <= max) return value
    const range = max === Number.MAX_SAFE_INTEGER ? 'of at least 0' : `from 0 to ${max}`
    return fail(ctx, 'invalid_number', `must be a number ${range}`)
  })
  return number.meta({ type: 'number', minimum: 0, maximum: max })
}

/** Number of items to skip. Values beyond the safe integers become the largest one, past the end of any list. */
const offsetParam = z
  .string()
  .transform((text, ctx) =>
    /^\d+$/.test(text)
      ? Math.min(Number(text), Number.MAX_SAFE_INTEGER)
      : fail(ctx, 'invalid_number', 'must be a whole number of at least 0'),
  )
  .meta({ type: 'integer', minimum: 0 })
  .default(0)
  .meta({ description: 'Number of items to skip; beyond the end of the list no item is returned.' })
const pageLimitParam = wholeNumber(1, 1000).default(100).meta({ description: 'Maximum number of items in a page.' })

const LIST_ORDERS = ['asc', 'desc'] as const
export type ListOrder = (typeof LIST_ORDERS)[number]

/** Order of a list; `what` is a sentence that names the sort key. */
function orderParam(preset: ListOrder, what: string) {
  return choiceParam(LIST_ORDERS, 'invalid_parameter').default(preset).meta({ description: what })
}

/** Format of a list; `shared/http/list-route.ts` creates the file. */
export const tableFormatParam = choiceParam(['json', 'csv'], 'invalid_format')
  .optional()
  .meta({ description: 'Format, takes precedence over Accept; csv is a file with the same rows.' })

/** Query of a list that is returned as a whole. */
export function listQuery(preset: ListOrder, what: string) {
  return z.object({ order: orderParam(preset, what), format: tableFormatParam })
}

/** Query of a list that is returned in pages. */
export function pageQuery(preset: ListOrder, what: string) {
  return listQuery(preset, what).extend({ limit: pageLimitParam, offset: offsetParam })
}

const BY_TIME = 'Order by time: desc is newest first, asc oldest first.'

/** Query of a page of events in chronological order; `idName` names the id that `before` takes. */
export function eventPageQuery(idName: string) {
  return pageQuery('desc', BY_TIME).extend({
    before: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .meta({
        description:
          `Only items older than the one with this ${idName}; pass that of the last item of a page to get the next ` +
          'page.',
      }),
  })
}

export const idListQuerySchema = listQuery('asc', 'Order by id: asc or desc.')

export const idPageQuerySchema = pageQuery('asc', 'Order by id: asc or desc.')

export const newestPageQuerySchema = pageQuery('desc', BY_TIME)

export const oldestListQuerySchema = listQuery('asc', 'Order by created_at: asc is oldest first.')

const SEARCH_MAX = 64

/** Text to search for; `what` is a sentence that names the searched fields. */
export function searchParam(what: string) {
  return z
    .string()
    .superRefine((text, ctx) => {
      // counted like JSON Schema: an emoji is one character
      if (text.length <= SEARCH_MAX || [...text].length <= SEARCH_MAX) return
      fail(ctx, 'invalid_parameter', `must be at most ${SEARCH_MAX} characters`)
    })
    .meta({ maxLength: SEARCH_MAX, description: what, example: 'cart' })
}

/** Date parameter, parsed to milliseconds since 1970. */
export const dateParam = z
  .string()
  .transform((text, ctx) => {
    return parseIso(text) ?? fail(ctx, 'invalid_date', 'must be an ISO 8601 date, such as 2026-05-01T08:30:00Z')
  })
  .meta({
    format: 'date-time',
    description: 'Time in ISO 8601, inclusive; UTC unless it has an offset; a date alone is its midnight.',
    example: '2026-05-01T08:30:00Z',
  })

export const monthParam = z
  .string()
  .transform((text, ctx) =>
    /^\d{4}-(0[1-9]|1[0-2])$/.test(text) ? text : fail(ctx, 'invalid_month', 'must be a month, such as 2026-05'),
  )
  .meta({
    pattern: '^\\d{4}-(0[1-9]|1[0-2])$',
    description: 'Calendar month in local time of the site.',
    example: '2026-05',
  })

/** Parameter with a few choices; any other value is rejected with `code` and lists the choices. */
export function choiceParam<Choice extends string>(choices: readonly Choice[], code: string) {
  const choice = z.string().transform((text, ctx) => {
    const chosen = choices.find((one) => one === text)
    return chosen ?? fail(ctx, code, `must be one of: ${choices.join(', ')}`)
  })
  return choice.meta({ enum: [...choices] })
}

/** List given as repeated parameters or comma-separated; trimmed, without duplicates, never empty. */
export const stringListParam = z
  .union([z.string(), z.array(z.string())])
  .transform((value, ctx) => {
    const items = [value]
      .flat()
      .flatMap((text) => text.split(','))
      .map((text) => text.trim())
    const distinct = new Set(items.filter((item) => item !== ''))
    return distinct.size > 0 ? [...distinct] : fail(ctx, 'empty_list', 'must name at least one, or be omitted')
  })
  .meta({
    type: 'array',
    items: { type: 'string' },
    minItems: 1,
    description: 'List, repeated or comma-separated.',
    example: ['cart-07', 'cart-08'],
  })

export const paginationSchema = z
  .object({
    limit: z.number().int().meta({ description: 'Limit as requested.', example: 100 }),
    offset: z.number().int().meta({ description: 'Offset as requested.', example: 0 }),
    returned: z
      .number()
      .int()
      .meta({ description: 'Number of items in this page; less than limit on the last one.', example: 42 }),
  })
  .meta({ id: 'Pagination' })

/** Marks data that outlives its device. */
export const removedSchema = z.literal(true).optional().meta({
  description:
    'True if the device was deleted; absent otherwise. A device that is registered again is a different one.',
})

export const isoSchema = z.string().meta({
  format: 'date-time',
  description: 'Time in ISO 8601, UTC, milliseconds.',
  example: '2026-05-01T08:30:00.000Z',
})
