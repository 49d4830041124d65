import { z } from 'zod'
import { zoneTypeSchema } from './geofences.ts'
import { oneLine } from './schema/name.ts'
import { dateParam, hardwareIdSchema, isoSchema, listQuery } from './schema/params.ts'

/** The `:cart` of a cart's paths. */
export const cartParams = z.object({
  cart: z
    .string()
    .meta({ description: 'What the cart is called, or the hardware_id of a device in it.', example: '17' }),
})

const sourceSchema = hardwareIdSchema.meta({ description: 'The device that said it.', example: 'cart-07' })
const whySchema = oneLine.min(1).meta({ description: 'For people.', example: 'Flat tyre' })
/** Empty once it was erased. */
const reportedTextSchema = z.string().meta({ description: 'For people.', example: 'Flat tyre' })
const bySchema = z
  .object({
    user_id: z.string().meta({ description: 'Of the person, or of the key.' }),
    name: z.string().meta({ description: 'What it was called then.', example: 'Jane' }),
  })
  .meta({ description: 'Who said so.' })
const zoneTypesSchema = z
  .array(zoneTypeSchema)
  .min(1)
  .max(10)
  .meta({ description: 'Zones in which it may be.', example: ['stop', 'slow'] })

export const cartStateSchema = z.enum(['in', 'out', 'outside', 'silent', 'unknown']).meta({
  description:
    'unknown: it has no position. silent: nobody has heard of it for too long. in: in a parking zone. outside: ' +
    'outside of every boundary, if there is one. out: anything else.',
})

const cartDeviceSchema = z.object({
  hardware_id: hardwareIdSchema,
  device_type: z.string().meta({ description: 'A teebox is the lock of the cart.', example: 'teebox' }),
  name: z.string().optional().meta({ description: 'For people; absent where it has none.', example: 'Cart 7' }),
  is_online: z.boolean().meta({ description: 'Connected, and has not said goodbye.' }),
})

const positionSchema = z
  .object({
    lat: z.number().meta({ description: 'Degrees, WGS 84.', example: 28.41 }),
    long: z.number().meta({ description: 'Degrees.', example: -81.58 }),
    speed: z.number().nullable().meta({
      description: 'km/h, between its last two positions where the device said none; null where nobody can say.',
      example: 12.4,
    }),
    heading: z.number().int().nullable().meta({
      description: 'Whole degrees from north, from the last two positions at least 5 m apart.',
      example: 270,
    }),
    at: isoSchema,
    hardware_id: sourceSchema,
  })
  .meta({ description: 'The newest of its lock, unless another device has one that is a minute newer.' })

const stayedZoneSchema = z.object({
  zone_id: z.string().meta({ description: 'The id of the zone.', example: 'barn' }),
  name: z.string().meta({ description: 'For people.', example: 'Barn' }),
  type: zoneTypeSchema,
  hole: z.number().int().optional().meta({ description: 'The hole it belongs to.', example: 7 }),
  since: isoSchema.meta({ description: 'When it came in, or was first known to be there.' }),
})

const cartLockSchema = z.object({
  is_locked: z.boolean().meta({ description: 'Whether it is locked.' }),
  at: isoSchema,
  source: z.string().nullable().meta({
    description: 'With what: rfid, keypad, key or remote; null where only its telemetry said it.',
    example: 'remote',
  }),
  by: z.string().nullable().meta({
    description: 'Who asked for it, or the tag or code; a user with mask_codes sees its last two characters.',
    example: 'Jane',
  }),
  hardware_id: sourceSchema,
})

const cartBatterySchema = z.object({
  voltage: z.number().meta({ description: 'Volts, the newest.', example: 50.9 }),
  at: isoSchema,
  rest_voltage: z.number().nullable().meta({
    description: 'The newest after it had not moved for rest_after_s.',
    example: 51.2,
  }),
  rest_at: isoSchema.nullable(),
  percent: z.number().int().min(0).max(100).nullable().meta({
    description: 'By the rest voltage, between empty_v and full_v of the site; null while these are not known.',
    example: 72,
  }),
  hardware_id: sourceSchema,
})

const outOfServiceSchema = z
  .object({ since: isoSchema, why: reportedTextSchema, by: bySchema })
  .meta({ description: 'Nobody is to drive it, and it opens no alerts.' })
const exemptSchema = z
  .object({ zone_types: zoneTypesSchema, until: isoSchema, why: reportedTextSchema, by: bySchema })
  .meta({ description: 'It may be where others may not, until then.' })

export const cartSchema = z
  .object({
    cart: z.string().meta({
      description: 'The cart of its devices; of a device that has none its name, or else its hardware_id.',
      example: '17',
    }),
    devices: z.array(cartDeviceSchema).meta({ description: 'By hardware_id; those in scope.' }),
    state: cartStateSchema,
    is_moving: z.boolean().meta({ description: 'It was faster than speedThreshold of trips within the last minute.' }),
    is_low: z.boolean().meta({ description: 'Its pack is low.' }),
    is_asleep: z.boolean().meta({ description: 'It is in, and said that it goes to sleep.' }),
    position: positionSchema.nullable(),
    zones: z.array(stayedZoneSchema).meta({ description: 'Zones it is in, by zone_id.' }),
    lock: cartLockSchema.nullable(),
    out_since: isoSchema.nullable().meta({ description: 'When it left parking; null while it is in or unknown.' }),
    last_heard_at: isoSchema.nullable().meta({ description: 'When the last message of any of its devices came.' }),
    battery: cartBatterySchema.nullable(),
    out_of_service: outOfServiceSchema.nullable(),
    exempt: exemptSchema.nullable(),
    note: z.string().nullable().meta({ description: 'What staff noted.', example: 'Squeaks' }),
    auto_lock_at: isoSchema.nullable().meta({ description: 'When it will be locked by itself.' }),
    open_alerts: z.array(z.string()).meta({ description: 'alert_id of its alerts that are not closed.' }),
  })
  .meta({ id: 'Cart' })
export type CartJson = z.infer<typeof cartSchema>

const notedBySchema = z.object({ user_id: z.string(), name: z.string() })
/** What a head office has of what people said of a cart: the body of the entity `cart_note`. */
export const cartNoteBodySchema = z.object({
  out_of_service: z.object({ since_ms: z.number(), why: z.string(), by: notedBySchema }).nullable(),
  exempt: z
    .object({ zone_types: z.array(zoneTypeSchema), until_ms: z.number(), why: z.string(), by: notedBySchema })
    .nullable(),
  note: z.string().nullable(),
})

export const cartListQuerySchema = listQuery('asc', 'By cart in natural order (2 before 10): asc or desc.')

const count = z.number().int().min(0)
export const cartListSchema = z
  .object({
    carts: z.array(cartSchema).meta({ description: 'In natural order: 2 before 10.' }),
    counts: z.object({
      in: count.meta({ description: 'In a parking zone, by state.', example: 41 }),
      out: count.meta({ description: 'On the course, by state.', example: 28 }),
      moving: count.meta({ description: 'Driving, in any state.', example: 20 }),
      low: count.meta({ description: 'With a low pack, in any state.', example: 2 }),
      silent: count.meta({ description: 'Not heard of, by state.', example: 1 }),
      outside: count.meta({ description: 'Outside every boundary, by state.', example: 1 }),
      out_of_service: count.meta({ description: 'Out of service, in any state.', example: 3 }),
      total: count.meta({ description: 'All carts in scope.', example: 72 }),
    }),
    has_parking_zone: z.boolean().meta({ description: 'Whether any of them has a parking zone.' }),
  })
  .meta({ id: 'CartList' })
export type CartListJson = z.infer<typeof cartListSchema>

/** `PATCH /carts/{cart}` */
export const cartPatchSchema = z
  .strictObject({
    out_of_service: z.strictObject({ why: whySchema }).nullable().optional(),
    exempt: z
      .strictObject({
        zone_types: zoneTypesSchema,
        until: dateParam.optional().meta({
          description: 'Until then; the next closing time, or else the end of the day, unless told.',
        }),
        why: whySchema,
      })
      .nullable()
      .optional(),
    note: z.string().trim().max(500).nullable().optional().meta({ description: 'null and "" remove it.' }),
  })
  .superRefine(({ out_of_service, exempt }, ctx) => {
    if (out_of_service == null || exempt == null) return
    ctx.addIssue({ code: 'custom', path: ['exempt'], message: 'must not be beside out_of_service' })
  })
  .meta({ id: 'CartPatch', description: 'What is left out stays as it is.' })
export type CartPatch = z.output<typeof cartPatchSchema>
