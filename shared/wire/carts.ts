import { z } from 'zod'
import { CART_KINDS, SERVICE_KINDS } from '#shared/site/settings.ts'
import { zoneTypeSchema } from './geofences.ts'
import { oneLine } from './schema/name.ts'
import { choiceParam, dateParam, hardwareIdSchema, isoSchema, listQuery, searchParam } from './schema/params.ts'

export const cartParams = z.object({
  cart: z.string().meta({ description: 'Name of the cart, or the hardware_id of a device in it.', example: '17' }),
})

const sourceSchema = hardwareIdSchema.meta({ description: 'Device that reported the value.', example: 'cart-07' })
const whySchema = oneLine.min(1).meta({ description: 'Reason in words.', example: 'Flat tyre' })
/** Empty after its erasure. */
const reportedTextSchema = z.string().meta({ description: 'Remark in words.', example: 'Flat tyre' })
export const bySchema = z
  .object({
    user_id: z.string().meta({ description: 'Id of the person or of the owner of the key.' }),
    name: z.string().meta({ description: 'Name at that time.', example: 'Jane' }),
  })
  .meta({ description: 'User who made the entry.' })
const zoneTypesSchema = z
  .array(zoneTypeSchema)
  .min(1)
  .max(10)
  .meta({ description: 'Types of zones that the cart may enter.', example: ['stop', 'slow'] })

export const cartStateSchema = z.enum(['in', 'out', 'outside', 'silent', 'unknown']).meta({
  description:
    'State of the cart. unknown: it has no position. silent: signal lost for too long. in: in a parking zone. ' +
    'outside: outside of every boundary, if there is one. out: anything else.',
})

const kindSchema = z.enum(CART_KINDS).meta({ description: 'Kind of vehicle.', example: 'golf_cart' })

const cartDeviceSchema = z.object({
  hardware_id: hardwareIdSchema,
  device_type: z.string().meta({ description: 'Device type; a teebox is the lock of the cart.', example: 'teebox' }),
  name: z.string().optional().meta({ description: 'Display name; absent without one.', example: 'Cart 7' }),
  is_online: z.boolean().meta({ description: 'True if the device is connected and has not announced a disconnect.' }),
})

const positionSchema = z
  .object({
    lat: z.number().meta({ description: 'Latitude in degrees, WGS 84.', example: 28.41 }),
    long: z.number().meta({ description: 'Longitude in degrees.', example: -81.58 }),
    speed: z.number().nullable().meta({
      description: 'Speed in km/h; computed from the last two positions if the device reports none. Null if unknown.',
      example: 12.4,
    }),
    heading: z.number().int().nullable().meta({
      description: 'Heading in whole degrees from north, from the last two positions at least 5 m apart.',
      example: 270,
    }),
    at: isoSchema,
    hardware_id: sourceSchema,
  })
  .meta({ description: 'Newest position of the lock, unless another device has one that is more than a minute newer.' })

const stayedZoneSchema = z.object({
  zone_id: z.string().meta({ description: 'Id of the zone.', example: 'barn' }),
  name: z.string().meta({ description: 'Display name.', example: 'Barn' }),
  type: zoneTypeSchema,
  hole: z.number().int().optional().meta({ description: 'Golf hole of the zone.', example: 7 }),
  since: isoSchema.meta({ description: 'Time at which the cart entered, or was first known to be inside.' }),
})

const cartLockSchema = z.object({
  is_locked: z.boolean().meta({ description: 'True if the cart is locked.' }),
  at: isoSchema,
  source: z.string().nullable().meta({
    description: 'Source of the last change: rfid, keypad, key or remote; null if only telemetry reported it.',
    example: 'remote',
  }),
  by: z.string().nullable().meta({
    description: 'Requester of the change, or the tag or code; users with mask_codes see its last two characters.',
    example: 'Jane',
  }),
  hardware_id: sourceSchema,
})

const cartBatterySchema = z.object({
  voltage: z.number().meta({ description: 'Newest voltage in volts.', example: 50.9 }),
  at: isoSchema,
  rest_voltage: z.number().nullable().meta({
    description: 'Newest voltage in volts after the cart had not moved for rest_after_s.',
    example: 51.2,
  }),
  rest_at: isoSchema.nullable(),
  percent: z
    .number()
    .int()
    .min(0)
    .max(100)
    .nullable()
    .meta({
      description:
        'Charge in per cent, from the rest voltage between empty_v and full_v of the site; null while these are not ' +
        'configured.',
      example: 72,
    }),
  hardware_id: sourceSchema,
})

export const reasonSchema = z
  .enum(['battery', 'brakes', 'tyre', 'steering', 'accident', 'cleaning', 'other'])
  .meta({ description: 'Reason by kind.', example: 'tyre' })
export type ServiceReason = z.infer<typeof reasonSchema>
const outOfServiceSchema = z
  .object({ since: isoSchema, why: reportedTextSchema, reason: reasonSchema.nullable(), by: bySchema })
  .meta({ description: 'Present if the cart is out of service; it opens no alerts then.' })
const exemptSchema = z
  .object({ zone_types: zoneTypesSchema, until: isoSchema, why: reportedTextSchema, by: bySchema })
  .meta({ description: 'Access granted until this time to zones that are closed to others.' })

/** Fields of a party that its carts show too. */
export const cartPartyFields = {
  party_id: z.string().meta({ description: 'Id of the party.', example: '5c0e…' }),
  players: z.array(z.string()).meta({ description: 'Names of the players; empty for users without staff rights.' }),
  holes: z.number().int().meta({ description: 'Number of holes to be played: 9 or 18.', example: 18 }),
  tee_time: isoSchema.nullable(),
  start_hole: z.number().int().nullable().meta({ description: 'First hole.', example: 1 }),
  until: isoSchema.nullable().meta({ description: 'Expected end; null while booked.' }),
  is_overdue: z.boolean().meta({ description: 'True if a cart is out after until.' }),
}
const cartPartySchema = z
  .object({
    ...cartPartyFields,
    driver: z.string().nullable().meta({ description: 'Name of the driver; null for users without staff rights.' }),
    given_at: isoSchema,
  })
  .meta({ description: 'Party that the cart is given out to; null for none.' })

export const cartSchema = z
  .object({
    cart: z.string().meta({
      description: 'Cart of its devices; for a device without a cart its name, or else its hardware_id.',
      example: '17',
    }),
    kind: kindSchema,
    devices: z.array(cartDeviceSchema).meta({ description: 'Devices in scope, by hardware_id.' }),
    state: cartStateSchema,
    is_moving: z.boolean().meta({
      description: 'True if the cart was faster than speedThreshold of trips within the last minute.',
    }),
    is_low: z.boolean().meta({ description: 'True if the battery is low.' }),
    is_asleep: z.boolean().meta({ description: 'True if the cart is in and has announced sleep.' }),
    position: positionSchema.nullable(),
    zones: z.array(stayedZoneSchema).meta({ description: 'Zones that contain the cart, by zone_id.' }),
    lock: cartLockSchema.nullable(),
    out_since: isoSchema.nullable().meta({
      description: 'Time at which the cart left parking; null while it is in or unknown.',
    }),
    last_heard_at: isoSchema.nullable().meta({ description: 'Time of the last message from any of its devices.' }),
    battery: cartBatterySchema.nullable(),
    out_of_service: outOfServiceSchema.nullable(),
    exempt: exemptSchema.nullable(),
    note: z.string().nullable().meta({ description: 'Staff note.', example: 'Squeaks' }),
    party: cartPartySchema.nullable(),
    auto_lock_at: isoSchema.nullable().meta({ description: 'Time of the next automatic lock.' }),
    open_alerts: z.array(z.string()).meta({ description: 'alert_id of each alert of the cart that is not closed.' }),
  })
  .meta({ id: 'Cart' })
export type CartJson = z.infer<typeof cartSchema>

const notedBySchema = z.object({ user_id: z.string(), name: z.string() })
/** Staff notes on a cart as replicated to the hub: the body of the entity `cart_note`. */
export const cartNoteBodySchema = z.object({
  out_of_service: z
    .object({ since_ms: z.number(), why: z.string(), reason: reasonSchema.nullish(), by: notedBySchema })
    .nullable(),
  exempt: z
    .object({ zone_types: z.array(zoneTypeSchema), until_ms: z.number(), why: z.string(), by: notedBySchema })
    .nullable(),
  note: z.string().nullable(),
  /** Null, or absent from an older gateway, for a golf cart. */
  kind: kindSchema.nullish(),
})

export const cartListQuerySchema = listQuery(
  'asc',
  'Order by cart in natural order (2 before 10): asc or desc.',
).extend({
  kind: choiceParam(CART_KINDS, 'invalid_parameter')
    .optional()
    .meta({ description: 'Only carts of this kind; the counts are of all carts.' }),
  search: searchParam('Only carts with this text in cart, driver or players.').optional(),
})

const count = z.number().int().min(0)
const countsSchema = z.object({
  in: count.meta({ description: 'Number of carts in a parking zone, by state.', example: 41 }),
  out: count.meta({ description: 'Number of carts on the course, by state.', example: 28 }),
  moving: count.meta({ description: 'Number of moving carts, in any state.', example: 20 }),
  low: count.meta({ description: 'Number of carts with a low battery, in any state.', example: 2 }),
  silent: count.meta({ description: 'Number of carts without signal, by state.', example: 1 }),
  outside: count.meta({ description: 'Number of carts outside of every boundary, by state.', example: 1 }),
  out_of_service: count.meta({ description: 'Number of carts out of service, in any state.', example: 3 }),
  total: count.meta({ description: 'Number of all of them in scope.', example: 72 }),
})
export const cartListSchema = z
  .object({
    carts: z.array(cartSchema).meta({ description: 'Carts in natural order: 2 before 10.' }),
    counts: countsSchema.meta({ description: 'Golf carts in scope.' }),
    counts_by_kind: z.partialRecord(z.enum(SERVICE_KINDS), countsSchema).meta({
      description: 'The same of the other vehicles, by kind; a kind without vehicles is absent.',
    }),
    has_parking_zone: z.boolean().meta({ description: 'True if any of them has a parking zone.' }),
  })
  .meta({ id: 'CartList' })
export type CartListJson = z.infer<typeof cartListSchema>

const meterValue = z.number().min(0).max(1_000_000)

/** `PATCH /carts/{cart}` */
export const cartPatchSchema = z
  .strictObject({
    out_of_service: z
      .strictObject({
        why: whySchema.optional().meta({ description: 'Reason in words; default: the word for reason.' }),
        reason: reasonSchema.optional(),
      })
      .nullable()
      .optional(),
    exempt: z
      .strictObject({
        zone_types: zoneTypesSchema,
        until: dateParam.optional().meta({
          description: 'End of the access; default: the next closing time, or else the end of the day.',
        }),
        why: whySchema,
      })
      .nullable()
      .optional(),
    kind: kindSchema.nullable().optional().meta({ description: 'Kind of vehicle, for admins; null: golf_cart.' }),
    meter: z
      .strictObject({
        hours: meterValue.meta({ description: 'Hours out.', example: 412.5 }),
        km: meterValue.meta({ description: 'Kilometres driven.', example: 2810.2 }),
        rounds: meterValue.int().meta({ description: 'Number of rounds.', example: 143 }),
      })
      .partial()
      .nullable()
      .optional()
      .meta({ description: 'What the meter shows now, for admins; null: what was counted.' }),
    note: z.string().trim().max(500).nullable().optional().meta({ description: 'Staff note; null and "" delete it.' }),
  })
  .superRefine(({ out_of_service, exempt }, ctx) => {
    if (out_of_service != null && out_of_service.why === undefined && out_of_service.reason === undefined) {
      const params = { code: 'missing_field' }
      ctx.addIssue({ code: 'custom', path: ['out_of_service', 'why'], message: 'give why or reason', params })
    }
    if (out_of_service == null || exempt == null) return
    ctx.addIssue({ code: 'custom', path: ['exempt'], message: 'must not be combined with out_of_service' })
  })
  .meta({ id: 'CartPatch', description: 'Patch of a cart; absent fields stay unchanged.' })
export type CartPatch = z.output<typeof cartPatchSchema>
