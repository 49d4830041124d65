import { z } from 'zod'
import {
  choiceParam,
  eventPageQuery,
  hardwareIdSchema,
  isoSchema,
  paginationSchema,
  removedSchema,
} from './schema/params.ts'

/** The life of a command; the last three are final. */
const COMMAND_STATUSES = ['pending', 'published', 'acknowledged', 'completed', 'failed', 'timeout'] as const
export const commandStatusSchema = z.enum(COMMAND_STATUSES)
export type CommandStatus = z.infer<typeof commandStatusSchema>

/** What a device may say about a command. */
export const ackStatusSchema = z.enum(['acknowledged', 'completed', 'failed'])
export type AckStatus = z.infer<typeof ackStatusSchema>

const METADATA_BYTES = 4096
const TTL_MAX_S = 86_400

const nameSchema = z.string().min(1).max(64).meta({ description: 'A command of the device type.', example: 'unlock' })
const paramsSchema = z.record(z.string(), z.unknown()).nullish().meta({
  description: 'Parameters as the device type defines them; left out for commands without any.',
  example: {},
})
const metadataSchema = z
  .record(z.string(), z.unknown())
  .superRefine((metadata, ctx) => {
    if (new TextEncoder().encode(JSON.stringify(metadata)).length <= METADATA_BYTES) return
    const message = `must be at most ${METADATA_BYTES} bytes of JSON`
    ctx.addIssue({ code: 'custom', message, params: { code: 'too_large' } })
  })
  .nullish()
  .meta({
    description: `Kept with the command, and with the lock event it leads to. At most ${METADATA_BYTES} bytes.`,
    example: { name: 'Jane' },
  })
const ttlSchema = z
  .number()
  .int()
  .min(1)
  .max(TTL_MAX_S)
  .optional()
  .meta({
    description: 'Time to live in seconds: the device ignores the command later; by default that of the command.',
    examples: [60],
  })

const forceSchema = z
  .boolean()
  .optional()
  .meta({
    description:
      'Locks in spite of what would refuse it: for admins anything, for staff only that the position of the cart ' +
      'is old. Other commands need no force.',
    examples: [false],
  })

/** What is asked of one device. */
export const newCommandSchema = z.strictObject({
  command: nameSchema,
  params: paramsSchema,
  metadata: metadataSchema,
  ttl_seconds: ttlSchema,
  force: forceSchema,
})

/** What is asked of the devices of a group. */
export const newGroupCommandSchema = newCommandSchema.extend({
  device_type: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .meta({ description: 'Only devices of this type; by default all whose type knows the command.' }),
})

const timeSchema = isoSchema.nullable()

export const commandSchema = z
  .object({
    command_id: z.string().meta({ description: 'Also the id in the message to the device.' }),
    hardware_id: hardwareIdSchema,
    device_id: z.string().meta({ description: 'The short_id of the device.' }),
    device_type: z
      .string()
      .meta({ description: 'The type of the device when the command was made.', example: 'teebox' }),
    command: z.string().meta({ description: 'The name of the command.', example: 'unlock' }),
    params: z.record(z.string(), z.unknown()).meta({ description: 'As they were sent.', example: {} }),
    metadata: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: 'As it was given; null for none.', example: { name: 'Jane' } }),
    status: commandStatusSchema.meta({
      description: 'completed, failed and timeout are final; pending is not sent yet.',
    }),
    requested_by: z.string().meta({
      description: 'The user_id of the caller; auto-lock, closing or safe-lock for a command of the gateway itself.',
    }),
    created_at: isoSchema,
    expires_at: isoSchema.meta({
      description: 'After this the gateway neither sends the command nor waits for an answer.',
    }),
    published_at: timeSchema.meta({ description: 'When it was first sent to the device.' }),
    acknowledged_at: timeSchema.meta({ description: 'When the device acknowledged it.' }),
    completed_at: timeSchema.meta({ description: 'When the device reported that it is done.' }),
    error: z
      .string()
      .nullable()
      .meta({
        description:
          'Why it failed: the reason the device gave, superseded, device_removed, or why a lock was not sent: ' +
          'cart_is_moving, position_unknown or admin_required.',
        example: null,
      }),
    retry_of: z.string().nullable().meta({ description: 'The command_id this one repeats.' }),
    forced: z.boolean().meta({
      description: 'Whether the lock was sent although the rule of safe locks would have refused it.',
    }),
    late_ack: z
      .object({
        status: ackStatusSchema,
        error: z.string().nullable().meta({ description: 'Why, if it failed.' }),
        timestamp: isoSchema,
      })
      .nullable()
      .meta({ description: 'The answer the device gave after the command was over; it changes nothing.' }),
    device_removed: removedSchema,
  })
  .meta({ id: 'Command' })
export type CommandJson = z.infer<typeof commandSchema>

export const commandListSchema = z.object({
  commands: z.array(commandSchema),
  pagination: paginationSchema,
})
export const groupCommandsSchema = z.object({
  group_id: z.number().int().meta({ description: 'The group the command was sent to.', example: 42 }),
  commands: z.array(commandSchema).meta({ description: 'One for each device.' }),
  refused: z
    .array(
      z.object({
        hardware_id: hardwareIdSchema,
        code: z.string().meta({ description: 'Why: cart_is_moving, or admin_required for force.' }),
      }),
    )
    .meta({ description: 'Devices that must not be locked now; no command was made for them.' }),
})

const statusParam = choiceParam(COMMAND_STATUSES, 'invalid_status')
  .optional()
  .meta({ description: 'Only commands in this state.' })

export const deviceCommandsQuerySchema = eventPageQuery('command_id').extend({ status: statusParam })
export const commandsQuerySchema = deviceCommandsQuerySchema.extend({
  hardware_id: z.string().optional().meta({
    description: 'Only of this device, since it was registered; of one that is deleted, all that is kept.',
    example: 'cart-07',
  }),
  command: z.string().optional().meta({ description: 'Only this one.', example: 'unlock' }),
})

export const commandIdParams = z.object({ id: z.string().meta({ description: 'command_id' }) })

/** Makes a request safe to repeat. */
export const idempotencyHeaders = z.object({
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e]([\x20-\x7e]{0,253}[\x21-\x7e])?$/, 'must be 1 to 255 printable characters')
    .optional()
    .meta({
      description:
        'The same key with the same body, from the same user and within 24 hours, answers with the command as it ' +
        'is now and creates nothing.',
    }),
})
