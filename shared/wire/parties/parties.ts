import { z } from 'zod'
import { isCalendarDate } from '#shared/site/time-zone.ts'
import { parseIso, toIso } from '#shared/time.ts'
import { bySchema, cartPartyFields } from '../carts.ts'
import { oneLine, oneLineUpTo } from '../schema/name.ts'
import { choiceParam, dateParam, isoSchema, pageQuery, paginationSchema, searchParam } from '../schema/params.ts'

export const PARTY_STATES = ['booked', 'out', 'over'] as const
export type PartyState = (typeof PARTY_STATES)[number]

/** Limits of the fields of a party, and of the parties of a local day. */
const PLAYERS_MAX = 8
export const PARTY_CARTS_MAX = 8
export const PARTY_NOTES_MAX = 20
export const PARTIES_A_DAY = 1000

const cartNameSchema = z.string().min(1).max(128).meta({ description: 'Cart as in GET /carts.', example: '17' })
const personSchema = oneLineUpTo(100).min(1)
const driverSchema = personSchema.nullable().meta({ description: 'Name of the driver.', example: 'Miller' })
const byOrNullSchema = bySchema.nullable().meta({ description: 'Acting user; null for the gateway.' })
const untilSchema = dateParam.transform(toIso).nullish().meta({ description: 'Expected end; null for the default.' })
const returnedSchema = z.enum(['hand', 'parked', 'closing', 'moved']).nullable().meta({
  description: 'hand: by staff. parked: locked in a parking zone. closing: after closing. moved: to another party.',
})

/** Fields of requests; an absent one stays as it is, null is the default. */
const fields = {
  players: z
    .array(personSchema)
    .max(PLAYERS_MAX)
    .nullish()
    .meta({ description: 'Names of the players.', example: ['Miller', 'Jones'] }),
  tee_time: dateParam.transform(toIso).nullish().meta({ description: 'Tee time; null if unknown.' }),
  start_hole: z.number().int().min(1).max(99).nullish().meta({ description: 'First hole.', example: 1 }),
  holes: z.literal([9, 18]).nullish().meta({ description: 'Number of holes to be played; default 18.', example: 18 }),
  note: oneLineUpTo(500).nullish().meta({ description: 'Note of staff on the party.' }),
}
const externalIdSchema = oneLineUpTo(64)
  .min(1)
  .nullish()
  .meta({ description: 'Id in the booking system, unique among the parties of a local day.', example: 'B-1042' })

const partyCartSchema = z.object({
  cart: cartNameSchema,
  driver: driverSchema,
  given_at: isoSchema,
  by: byOrNullSchema,
  returned_at: isoSchema.nullable(),
  returned: returnedSchema,
})

const storedFields = {
  party_id: cartPartyFields.party_id,
  date: z.string().meta({ description: 'Local day of the tee time, else of the creation.', example: '2026-05-01' }),
  tee_time: cartPartyFields.tee_time,
  start_hole: cartPartyFields.start_hole,
  holes: cartPartyFields.holes,
  players: cartPartyFields.players,
  note: z.string().nullable().meta({ description: 'Note of staff on the party.' }),
  external_id: z.string().nullable().meta({ description: 'Id in the booking system.', example: 'B-1042' }),
  source: z.enum(['hand', 'sheet']).meta({ description: 'sheet: imported with a tee sheet.' }),
  until: cartPartyFields.until,
  carts: z.array(partyCartSchema).meta({ description: 'Carts in scope, in the order of hand-out.' }),
  notes: z.array(
    z.object({ at: isoSchema, text: z.string().meta({ description: 'Text of the note.' }), by: byOrNullSchema }),
  ),
  created_at: isoSchema,
  updated_at: isoSchema,
  by: byOrNullSchema,
}

export const partySchema = z
  .object({
    ...storedFields,
    state: z.enum(PARTY_STATES).meta({
      description: 'booked: no cart was given out yet. out: a cart is not returned. over: all are returned.',
    }),
    is_overdue: cartPartyFields.is_overdue,
  })
  .meta({ id: 'Party' })
export type PartyJson = z.infer<typeof partySchema>

const storedPartySchema = z.object(storedFields)
/** Party as stored: `until` is null for the default. Replaced as a whole, never changed. */
export type Party = Readonly<z.output<typeof storedPartySchema>>
export type HandedOut = Party['carts'][number]

/** Party as replicated to the hub, without the names. */
export const replicatedPartySchema = storedPartySchema
  .omit({ players: true, note: true, notes: true })
  .extend({ carts: z.array(partyCartSchema.omit({ driver: true })) })
export type ReplicatedParty = z.output<typeof replicatedPartySchema>

export const partyParams = z.object({ id: z.string().meta({ description: 'party_id', example: '5c0e…' }) })

const givenSchema = z
  .array(z.strictObject({ cart: cartNameSchema, driver: driverSchema.optional() }))
  .max(PARTY_CARTS_MAX)
const givingFields = {
  until: untilSchema,
  unlock: z.boolean().default(true).meta({ description: 'True to unlock the carts.' }),
  move: z.boolean().default(false).meta({ description: 'True to take carts that are out with another party from it.' }),
}

export const newPartySchema = z
  .strictObject({
    ...fields,
    external_id: externalIdSchema,
    carts: givenSchema.default([]).meta({ description: 'Carts to give out.' }),
    ...givingFields,
  })
  .meta({ id: 'NewParty' })
export type NewParty = z.output<typeof newPartySchema>

export const handOutSchema = z
  .strictObject({ carts: givenSchema.min(1).meta({ description: 'Carts to give out.' }), ...givingFields })
  .meta({ id: 'HandOut' })
export type HandOut = z.output<typeof handOutSchema>

export const partyReturnSchema = z
  .strictObject({
    carts: z.array(cartNameSchema).max(500).optional().meta({ description: 'Carts to return; default: all.' }),
    lock: z.boolean().default(false).meta({ description: 'True to lock them, by the rule of POST /carts/lock.' }),
  })
  .meta({ id: 'PartyReturn' })
export type PartyReturn = z.output<typeof partyReturnSchema>

export const partyPatchSchema = z
  .strictObject({
    ...fields,
    until: untilSchema,
    drivers: z
      .record(z.string(), driverSchema)
      .optional()
      .meta({ description: 'Drivers by cart; null deletes one.', example: { '17': 'Miller' } }),
  })
  .meta({ id: 'PartyPatch' })
export type PartyPatch = z.output<typeof partyPatchSchema>

export const newPartyNoteSchema = z
  .strictObject({ text: oneLine.min(1).meta({ description: 'Text of the note.', example: 'Asked to keep up' }) })
  .meta({ id: 'NewPartyNote' })

const resultSchema = z.union([
  z.object({
    cart: cartNameSchema,
    command_id: z.string().nullable().meta({ description: 'Id of the command; null if none was sent.' }),
  }),
  z.object({
    cart: cartNameSchema,
    code: z.string().meta({ description: 'Reason for which the cart was not locked, as in POST /carts/lock.' }),
  }),
])
export type PartyResultJson = z.infer<typeof resultSchema>
export const partyResultsSchema = z.object({ party: partySchema, results: z.array(resultSchema) })

export const deletedPartySchema = z.object({
  success: z.literal(true),
  deleted: z.string().meta({ description: 'Id of the deleted party.' }),
})

/** Local day as it is, or a time in milliseconds. */
const dayOrTimeParam = z
  .string()
  .transform((text, ctx): string | number => {
    if (isCalendarDate(text)) return text
    const ms = parseIso(text)
    if (ms !== null && ms !== undefined) return ms
    ctx.addIssue({ code: 'custom', message: 'must be a day, such as 2026-05-01', params: { code: 'invalid_date' } })
    return z.NEVER
  })
  .meta({ description: 'Local day of the site, inclusive; of a time, its local day.', example: '2026-05-01' })

export const partyQuerySchema = pageQuery('asc', 'Order by tee_time (null is last), then created_at.').extend({
  date: dayOrTimeParam.optional(),
  from: dayOrTimeParam.optional(),
  to: dayOrTimeParam.optional(),
  state: choiceParam(PARTY_STATES, 'invalid_parameter').optional().meta({ description: 'Filter by state.' }),
  cart: z.string().optional().meta({ description: 'Filter by cart.', example: '17' }),
  search: searchParam('Text in players, drivers, carts or external_id.').optional(),
})

export const partyListSchema = z
  .object({ parties: z.array(partySchema), pagination: paginationSchema })
  .meta({ id: 'PartyList' })

/** Size of the maximum number of lines with the longest texts. */
export const SHEET_BYTES_MAX = 4 * 1024 * 1024
export const SHEET_LINES_MAX = 1000
export const SHEET_COLUMNS = ['tee_time', 'players', 'start_hole', 'holes', 'note', 'external_id'] as const
export type SheetColumn = (typeof SHEET_COLUMNS)[number]

/** Line of a tee sheet; an absent field stays as it is in a known party. */
export const sheetLineSchema = z.strictObject({ ...fields, tee_time: z.string(), external_id: externalIdSchema })

const flag = z.enum(['true', 'false']).default('false')
export const sheetQuerySchema = z.object({
  date: z
    .string()
    .refine(isCalendarDate, { message: 'must be a day, such as 2026-05-01', params: { code: 'invalid_date' } })
    .optional()
    .meta({ description: 'Local day of tee times as HH:MM.', example: '2026-05-01' }),
  dry_run: flag.meta({ description: 'Only reports what would happen.' }),
  replace: flag.meta({ description: 'Deletes booked parties of the sheet that are not in the file, on its days.' }),
})

/** Tee sheet as provided by a browser or Node, of type text/csv or application/json. */
export const teeSheetSchema = z.custom<Blob | Record<string, unknown>>().meta({
  type: 'string',
  description:
    'CSV file whose first line names the columns tee_time (required), players (separated by |), start_hole, holes, ' +
    'note and external_id; or JSON with the same fields, as {"parties": [...]}. Up to 1,000 lines.',
  example: 'tee_time,players,start_hole,holes,external_id\n08:30,Miller|Jones,1,18,B-1042\n',
})

/** Tee sheet as JSON; its lines are checked one by one, so that the response lists all faults. */
export const sheetJsonSchema = z.unknown().meta({
  type: 'object',
  description: 'The same as {"parties": [...]}; players are a list.',
  example: { parties: [{ tee_time: '08:30', players: ['Miller', 'Jones'], start_hole: 1, external_id: 'B-1042' }] },
})

const count = z.number().int()
export const sheetResultSchema = z
  .object({
    created: count.meta({ description: 'Number of new parties.', example: 38 }),
    updated: count.meta({ description: 'Number of changed parties.', example: 2 }),
    unchanged: count.meta({ description: 'Number of parties that matched the sheet already.', example: 0 }),
    deleted: count.meta({ description: 'Number of deleted parties.', example: 1 }),
  })
  .meta({ id: 'SheetResult' })
export type SheetResult = z.infer<typeof sheetResultSchema>
