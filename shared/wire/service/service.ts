import { z } from 'zod'
import { SERVICE_STATES } from '#shared/carts/service-due.ts'
import { CART_KINDS } from '#shared/site/settings.ts'
import { toIso } from '#shared/time.ts'
import { bySchema, reasonSchema } from '../carts.ts'
import { oneLine, oneLineUpTo } from '../schema/name.ts'
import {
  choiceParam,
  dateParam,
  isoSchema,
  listQuery,
  oldestListQuerySchema,
  pageQuery,
  paginationSchema,
} from '../schema/params.ts'

const cartSchema = z.string().min(1).max(128).meta({ description: 'Cart as in GET /carts.', example: '17' })
const planIdSchema = z.string().max(64).nullable().meta({ description: 'Plan that the service is of; null for none.' })
const COST_MAX = 1_000_000

/** Values of a meter. */
const meterFields = {
  hours: z.number().meta({ description: 'Hours out, to 0.001.', example: 412.5 }),
  km: z.number().meta({ description: 'Kilometres driven, to 0.001.', example: 2810.2 }),
  rounds: z.number().meta({ description: 'Number of rounds.', example: 143 }),
}

export const meterSchema = z
  .object({
    cart: cartSchema,
    ...meterFields,
    since: isoSchema.nullable().meta({ description: 'Start of the first day that counts; null before it.' }),
  })
  .meta({ id: 'CartMeter' })

const outOfServiceSchema = z
  .object({
    since: isoSchema,
    until: isoSchema,
    reason: reasonSchema.nullable().meta({ description: 'Reason by kind; null for one in words only.' }),
  })
  .nullable()
  .meta({ description: 'Time for which the cart was out of service, for the entry that its end made.' })

export const serviceEntrySchema = z
  .object({
    entry_id: z.string().meta({ description: 'Id of the entry, a UUID.' }),
    cart: cartSchema,
    done_at: isoSchema,
    what: z.string().meta({ description: 'What was done.', example: 'Brakes adjusted' }),
    plan_id: planIdSchema,
    done_by: z.string().nullable().meta({ description: 'Person or workshop that did it.', example: 'Workshop' }),
    hours: meterFields.hours.meta({ description: 'Meter of the cart at done_at: hours out.' }),
    km: meterFields.km,
    rounds: meterFields.rounds,
    cost: z.number().nullable().meta({ description: 'Cost in the currency of the course.', example: 49.5 }),
    note: z.string().nullable().meta({ description: 'Note of staff.' }),
    out_of_service: outOfServiceSchema,
    by: bySchema.nullable(),
    created_at: isoSchema,
  })
  .meta({ id: 'ServiceEntry' })
export type ServiceEntry = z.infer<typeof serviceEntrySchema>

const entryFields = {
  done_at: dateParam.transform(toIso).nullish().meta({ description: 'Time of the service; default now.' }),
  plan_id: planIdSchema.optional(),
  done_by: oneLineUpTo(100).nullish().meta({ description: 'Person or workshop that did it.' }),
  cost: z
    .number()
    .min(0)
    .max(COST_MAX)
    .refine((cost) => Math.abs(cost * 100 - Math.round(cost * 100)) < 1e-6, 'must have two decimal places at most')
    .nullish()
    .meta({ description: 'Cost in the currency of the course, in steps of 0.01.' }),
  note: oneLineUpTo(500).nullish().meta({ description: 'Note of staff.' }),
}
const whatSchema = oneLine.min(1).meta({ description: 'What was done.', example: 'Brakes adjusted' })

export const newServiceEntrySchema = z
  .strictObject({ cart: cartSchema, what: whatSchema, ...entryFields })
  .meta({ id: 'NewServiceEntry' })
export const serviceEntryPatchSchema = z
  .strictObject({ what: whatSchema.optional(), ...entryFields })
  .meta({ id: 'ServiceEntryPatch' })
export type ServiceEntryPatch = z.output<typeof serviceEntryPatchSchema>

export const serviceEntryQuerySchema = pageQuery('desc', 'Order by done_at: desc is newest first.').extend({
  cart: z.string().optional().meta({ description: 'Filter by cart.', example: '17' }),
  plan_id: z.string().optional().meta({ description: 'Filter by plan.' }),
  from: dateParam.optional(),
  to: dateParam.optional(),
})
export const serviceEntryListSchema = z
  .object({ entries: z.array(serviceEntrySchema), pagination: paginationSchema })
  .meta({ id: 'ServiceEntryList' })

export const entryParams = z.object({ id: z.string().meta({ description: 'entry_id' }) })
export const planParams = z.object({ id: z.string().meta({ description: 'plan_id' }) })
export const deletedServiceSchema = z.object({
  success: z.literal(true),
  deleted: z.string().meta({ description: 'Id of the deleted entry or plan.' }),
})

const INTERVAL_MAX = 1_000_000
const interval = z.number().positive().max(INTERVAL_MAX)
const intervals = {
  hours: interval.meta({ description: 'Hours out between two services.', example: 250 }),
  km: interval.meta({ description: 'Kilometres between two services.', example: 1500 }),
  rounds: interval.int().meta({ description: 'Rounds between two services.', example: 150 }),
  days: interval.int().meta({ description: 'Local days between two services.', example: 180 }),
}
const everySchema = z.object(intervals).partial().meta({ description: 'Intervals; the first that is over counts.' })
export const PLANS_MAX = 50
export const SOON_PERCENT = 10

export const servicePlanSchema = z
  .object({
    plan_id: z.string().meta({ description: 'Id of the plan, a UUID.' }),
    name: z.string().meta({ description: 'Name of the service.', example: 'Brakes' }),
    every: everySchema,
    carts: z.array(cartSchema).nullable().meta({ description: 'Carts in scope; null for all of the kind.' }),
    vehicle_kind: z.enum(CART_KINDS).meta({ description: 'Kind of vehicle, for a plan without carts.' }),
    soon_percent: z
      .number()
      .meta({ description: 'Rest of an interval at which the service is due soon.', example: 10 }),
    by: bySchema.nullable(),
    created_at: isoSchema,
  })
  .meta({ id: 'ServicePlan' })
export type ServicePlan = z.infer<typeof servicePlanSchema>
/** Plan with the meters from which it counts for carts without an entry. */
export type StoredPlan = ServicePlan & {
  counts_from: Readonly<Record<string, { hours: number; km: number; rounds: number }>>
}

const planFields = {
  carts: z.array(cartSchema).min(1).max(500).nullish().meta({ description: 'Carts; null for all of the kind.' }),
  vehicle_kind: z.enum(CART_KINDS).nullish().meta({ description: 'Kind of vehicle; default golf_cart.' }),
  soon_percent: z.number().min(1).max(50).nullish().meta({ description: 'Default 10.', example: 10 }),
}
const planNameSchema = oneLine.min(1).meta({ description: 'Name of the service.', example: 'Brakes' })
const isAny = (every: object) => Object.keys(every).length > 0

export const newServicePlanSchema = z
  .strictObject({
    name: planNameSchema,
    every: z.strictObject(intervals).partial().refine(isAny, 'give one interval at least'),
    ...planFields,
  })
  .meta({ id: 'NewServicePlan' })
export const servicePlanPatchSchema = z
  .strictObject({
    name: planNameSchema.optional(),
    every: z
      .strictObject({
        hours: intervals.hours.nullable(),
        km: intervals.km.nullable(),
        rounds: intervals.rounds.nullable(),
        days: intervals.days.nullable(),
      })
      .partial()
      .optional()
      .meta({ description: 'Intervals to change; null deletes one.' }),
    ...planFields,
  })
  .meta({ id: 'ServicePlanPatch' })
export type ServicePlanPatch = z.output<typeof servicePlanPatchSchema>

export const servicePlanQuerySchema = oldestListQuerySchema
export const servicePlansSchema = z.array(servicePlanSchema)

const dueSchema = z
  .object({
    cart: cartSchema,
    plan_id: z.string().meta({ description: 'Id of the plan.' }),
    name: z.string().meta({ description: 'Name of the service.', example: 'Brakes' }),
    state: z.enum(SERVICE_STATES).meta({ description: 'due: an interval is over. soon: soon_percent of one is left.' }),
    left: everySchema.extend(meterFields).extend({ days: z.number().int() }).partial().meta({
      description: 'Rest of each interval; 0 or below when it is over.',
    }),
    last_done_at: isoSchema.nullable().meta({ description: 'Time of the last service; null before the first.' }),
  })
  .meta({ id: 'DueService' })
export type DueServiceJson = z.infer<typeof dueSchema>

export const dueQuerySchema = listQuery('asc', 'Order by urgency: asc is due first, with least left first.').extend({
  state: choiceParam(SERVICE_STATES, 'invalid_parameter').optional().meta({ description: 'Filter by state.' }),
})
export const dueListSchema = z.object({ due: z.array(dueSchema) }).meta({ id: 'DueServiceList' })
