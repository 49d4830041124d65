import { z } from 'zod'
import { CART_MAX, CART_PATTERN, HARDWARE_ID, isCartName, isHardwareId, MAX_GROUP_ID } from '#shared/ids.ts'
import { deviceConfigSchema } from './device-configs.ts'
import { groupIdSchema } from './groups.ts'
import { oneLine } from './schema/name.ts'
import {
  hardwareIdSchema,
  isoSchema,
  listQuery,
  numberParam,
  pageQuery,
  paginationSchema,
  searchParam,
  stringListParam,
  wholeNumber,
} from './schema/params.ts'

const scalarSchema = z.union([z.string(), z.number(), z.boolean()])

export const deviceSchema = z
  .object({
    short_id: z.string().meta({ description: 'Short, made up by the gateway.', example: 'k3v9x2qa' }),
    hardware_id: hardwareIdSchema,
    device_type: z.string().meta({ description: 'teebox, cartcaddie, or another the site has.', example: 'teebox' }),
    name: z.string().optional().meta({ description: 'For people; absent where it has none.', example: 'Cart 7' }),
    cart: z.string().nullable().meta({
      description: 'The cart it is in: devices with the same are one cart. Null for one that is a cart of its own.',
      example: '17',
    }),
    attributes: z.record(z.string(), scalarSchema).meta({
      description:
        'The latest of each value it has reported: lat and long (degrees, WGS 84), speed (km/h), battery_voltage ' +
        '(V), lock_status (true or 1 is locked), and whatever else it sends.',
      example: { lat: 28.41, long: -81.58, speed: 12.4, battery_voltage: 50.9, lock_status: true },
    }),
    is_online: z.boolean().meta({ description: 'Connected, and has not said goodbye.' }),
    group_id: z.number().int().nullable().meta({ description: 'The group it is in.', example: 42 }),
    enrolled_with_shared_key: z
      .boolean()
      .optional()
      .meta({
        description:
          'The device enrolled with the shared key and has not confirmed a password of its own yet; absent at the ' +
          'head office.',
        example: false,
      }),
    created_at: isoSchema,
    updated_at: isoSchema.meta({ description: 'The last change of any field here, telemetry included.' }),
    last_responded_at: isoSchema
      .optional()
      .meta({ description: 'When its last message came in; absent if there was none.' }),
  })
  .meta({ id: 'Device' })

export type DeviceJson = z.infer<typeof deviceSchema>

const streamDetailsSchema = z
  .object({
    count: z.number().int().meta({ description: 'Records kept.', example: 20411 }),
    first_at: isoSchema.nullable().meta({ description: 'Time of the oldest record.' }),
    last_at: isoSchema.nullable().meta({ description: 'Time of the newest record.' }),
  })
  .meta({ id: 'StreamDetails' })

export const deviceDetailsSchema = deviceSchema
  .extend({
    telemetry: z.object({ gps: streamDetailsSchema, battery: streamDetailsSchema }),
    dropped: z.record(z.string(), z.number().int()).meta({
      description: 'Values and messages the gateway refused, by reason.',
      example: { invalid_position: 2 },
    }),
    unverified_times: z
      .object({ count: z.number().int().meta({ description: 'How many.' }), from: isoSchema, to: isoSchema })
      .nullable()
      .meta({
        description:
          'Readings and events that were ahead of the gateway while its clock was in doubt: they are stored at ' +
          'the times the device said. How many, the earliest and the latest of these times; null if there are ' +
          'none.',
      }),
    clock_off_s: z
      .number()
      .int()
      .nullable()
      .meta({
        description:
          'Seconds that the clock of the device is ahead, negative for behind, when that is more than two minutes; ' +
          'null while it is right or not known.',
        example: null,
      }),
    status: z
      .record(z.string(), scalarSchema)
      .nullable()
      .meta({ description: 'Its last st message.', example: { fw: '1.4.2', type: 'teebox', boot: 17 } }),
    config: deviceConfigSchema,
    geofences: z
      .object({ applied_version: z.number().int().nullable(), applied_at: isoSchema.nullable() })
      .meta({ description: 'The version of the zones the device last reported as applied, and when.' }),
    mqtt: z.object({
      connected_since: isoSchema.nullable().meta({ description: 'null while it is away.' }),
      address: z
        .string()
        .nullable()
        .meta({ description: 'IP address; null while it is away.', example: '192.168.1.71' }),
      taken_over: z.number().int().meta({
        description:
          'Times since the gateway started that two connections took its id from each other (client_id_used_twice).',
        example: 0,
      }),
    }),
  })
  .meta({ id: 'DeviceDetails' })

export const deviceListSchema = z
  .object({ devices: z.array(deviceSchema), pagination: paginationSchema })
  .meta({ id: 'DeviceList' })

const deviceListParams = {
  hardware_ids: stringListParam.optional().meta({ description: 'Only these; repeated or comma-separated.' }),
  device_type: z.string().optional().meta({ description: 'Only this type.', example: 'teebox' }),
  cart: z.string().optional().meta({ description: 'Only the devices of this cart.', example: '17' }),
  group_id: wholeNumber(1, MAX_GROUP_ID).optional().meta({ description: 'Only those in this group.' }),
  is_online: z.enum(['true', 'false']).optional().meta({ description: 'Only those that are, or are not.' }),
  battery_below: numberParam()
    .optional()
    .meta({ description: 'Only those whose latest voltage is lower, in volts.', example: 48.5 }),
  search: searchParam('Part of the name, hardware_id or short_id, in upper or lower case.').optional(),
  ...pageQuery('asc', 'By hardware_id: asc or desc.').shape,
}

const attributeParamSchema = z.union([z.string(), z.array(z.string())])
const ATTRIBUTE_PARAMS = {
  patternProperties: {
    '^attr_[A-Za-z0-9_]{1,64}$': {
      title: 'attr_*',
      type: 'array',
      items: { type: 'string' },
      description:
        'Only devices with an attribute of this value, such as attr_lock_status=true. Several must all fit; of ' +
        'one that is repeated any may. 12.40 equals 12.4, true equals 1.',
      examples: [['true']],
    },
  },
}

/** `attr_<name>` parameters come beside these; `shared/device-filter.ts` reads them. */
export const siteDeviceListQuerySchema = z
  .object(deviceListParams)
  .catchall(attributeParamSchema)
  .meta(ATTRIBUTE_PARAMS)

/** The same at the gateway, which knows how its devices log in. */
export const deviceListQuerySchema = z
  .object({
    ...deviceListParams,
    enrolled_with_shared_key: z
      .enum(['true', 'false'])
      .optional()
      .meta({ description: 'Only those without a password of their own yet, or with one.' }),
  })
  .catchall(attributeParamSchema)
  .meta(ATTRIBUTE_PARAMS)

export type DeviceListQuery = z.infer<typeof deviceListQuerySchema>

const nameSchema = oneLine
  .transform((text) => text || null)
  .meta({ description: 'For people; empty for none.', example: 'Cart 7' })
const deviceTypeSchema = z.string().min(1).max(64).meta({ description: 'One the gateway knows.', example: 'teebox' })

const cartSchema = z
  .string()
  .trim()
  .refine(isCartName, 'must be 1 to 16 characters, on one line without control characters, and not site')
  .meta({
    minLength: 1,
    maxLength: CART_MAX,
    pattern: CART_PATTERN,
    description:
      'The cart it is in, as people call it: 1 to 16 characters, case-sensitive, not site. Devices with the same ' +
      'cart are one cart.',
    example: '17',
  })

function isOnly(keys: unknown, name: string): boolean {
  return Array.isArray(keys) && keys.every((key) => key === name)
}

export const newDeviceSchema = z
  .strictObject(
    {
      hardware_id: z
        .string()
        .refine(
          isHardwareId,
          'must be 1 to 64 letters, digits, dots, underscores, hyphens, or colons inside; not active, . or ..',
        )
        .meta({
          pattern: HARDWARE_ID.source,
          description: "Case-sensitive, for ever; not active, . or .., and no other device's short_id.",
          example: 'cart-07',
        }),
      device_type: deviceTypeSchema,
      name: nameSchema.nullable().optional(),
      cart: cartSchema.nullable().optional(),
      group_id: groupIdSchema.nullable().optional(),
    },
    {
      error: (issue) =>
        issue.code === 'unrecognized_keys' && isOnly(issue.keys, 'short_id')
          ? 'is made up by the gateway: leave it out'
          : undefined,
    },
  )
  .meta({ id: 'NewDevice' })

export const devicePatchSchema = z
  .strictObject({
    name: nameSchema.nullable().optional().meta({ description: 'null or an empty text clears it.' }),
    cart: cartSchema.nullable().optional().meta({ description: 'Set by admins only; null clears it.' }),
  })
  .meta({ id: 'DevicePatch' })

export const devicePutSchema = z
  .strictObject({
    name: nameSchema.nullable().meta({ description: 'null or an empty text for none.' }),
    device_type: deviceTypeSchema,
    group_id: groupIdSchema.nullable().meta({ description: 'null for none.' }),
    cart: cartSchema
      .nullable()
      .optional()
      .meta({ description: 'null for none; left out it stays: clients of before know none.' }),
  })
  .meta({ id: 'DevicePut', description: 'All that an admin decides of a device.' })

const recentMessageSchema = z
  .object({
    at: isoSchema.meta({ description: 'When it came, by the gateway.' }),
    topic: z.string().meta({ description: 'As the device wrote it.', example: 'dev/cart-07/tlm' }),
    payload: z.string().meta({
      description: 'Its first 1,024 bytes: as text, or in base64 when they are none.',
      example: '{"lat":28.41,"long":-81.58}',
    }),
    encoding: z.enum(['text', 'base64']),
    bytes: z.number().int().meta({ description: 'How long the payload was.', example: 27 }),
    result: z.string().meta({
      description:
        'stored, waiting (for the disk), answered (a question for the time), or the reason why nothing of it was taken.',
      example: 'invalid_json',
    }),
    drops: z
      .array(
        z.object({
          reason: z.string().meta({ description: 'Why a part of it was not taken.', example: 'invalid_lat' }),
          count: z.number().int().meta({ description: 'How many parts.', example: 1 }),
        }),
      )
      .meta({ description: 'Parts of it that were not taken.' }),
    clock_off_s: z
      .number()
      .int()
      .nullable()
      .meta({
        description:
          'Seconds that the clock of the device was known to be ahead, negative for behind; null while it was not ' +
          'known to be wrong.',
        example: null,
      }),
  })
  .meta({ id: 'RecentMessage' })

export const recentMessagesQuerySchema = listQuery('desc', 'By at: desc is newest first.')

export const recentMessagesSchema = z
  .object({ messages: z.array(recentMessageSchema).meta({ description: 'Newest first.' }) })
  .meta({ id: 'RecentMessages' })

const mqttCredentialsSchema = z
  .object({
    username: z.string().meta({ example: 'cart-07', description: 'The hardware_id.' }),
    password: z
      .string()
      .meta({ description: 'Shown only here; kept as a hash.', example: 'Xk7Jm2Qp9Rt4Wv6Yz8Ab3Cd5Ef1Gh0' }),
    client_id: z.string().meta({ example: 'cart-07', description: 'The hardware_id.' }),
    topics: z.object({
      publish: z.array(z.string()).meta({ description: 'Topics it may publish.', example: ['dev/cart-07/tlm'] }),
      subscribe: z.array(z.string()).meta({ description: 'Topics it may read.', example: ['dev/cart-07/cmd'] }),
    }),
  })
  .meta({ id: 'MqttCredentials', description: 'What the device logs in to the broker with.' })

export const registeredDeviceSchema = z
  .object({ device: deviceSchema, mqtt: mqttCredentialsSchema })
  .meta({ id: 'RegisteredDevice' })
export const rotatedPasswordSchema = z.object({ success: z.literal(true), mqtt: mqttCredentialsSchema })
export const deletedDeviceSchema = z.object({ success: z.literal(true), deleted: hardwareIdSchema })
