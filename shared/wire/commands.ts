import { z } from 'zod'
import {
  choiceParam,
  eventPageQuery,
  hardwareIdSchema,
  isoSchema,
  paginationSchema,
  removedSchema,
} from './schema/params.ts'

/** States of a command; the last three are final. */
const COMMAND_STATUSES = ['pending', 'published', 'acknowledged', 'completed', 'failed', 'timeout'] as const
export const commandStatusSchema = z.enum(COMMAND_STATUSES)
export type CommandStatus = z.infer<typeof commandStatusSchema>

/** States that a device may report for a command. */
export const ackStatusSchema = z.enum(['acknowledged', 'completed', 'failed'])
export type AckStatus = z.infer<typeof ackStatusSchema>

const METADATA_BYTES = 4096
const TTL_MAX_S = 86_400

const nameSchema = z.string().min(1).max(64).meta({
  description: 'Name of a command of the device type.',
  example: 'unlock',
})
const paramsSchema = z.record(z.string(), z.unknown()).nullish().meta({
  description: 'Parameters as defined by the device type; omit them for commands without parameters.',
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
    description: `Data stored with the command and with the resulting lock event. At most ${METADATA_BYTES} bytes.`,
    example: { name: 'Jane' },
  })
const ttlSchema = z
  .number()
  .int()
  .min(1)
  .max(TTL_MAX_S)
  .optional()
  .meta({
    description: 'Time to live in seconds, after which the device ignores the command; default: that of the command.',
    examples: [60],
  })

const forceSchema = z
  .boolean()
  .optional()
  .meta({
    description:
      'Locks although a rule forbids it: admins override any rule, staff only an outdated position of the cart. ' +
      'Other commands need no force.',
    examples: [false],
  })

export const newCommandSchema = z.strictObject({
  command: nameSchema,
  params: paramsSchema,
  metadata: metadataSchema,
  ttl_seconds: ttlSchema,
  force: forceSchema,
})

export const newGroupCommandSchema = newCommandSchema.extend({
  device_type: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .meta({ description: 'Limits the command to devices of this type; default: all whose type supports it.' }),
})

const timeSchema = isoSchema.nullable()

export const commandSchema = z
  .object({
    command_id: z.string().meta({ description: 'Id of the command, also in the message to the device.' }),
    hardware_id: hardwareIdSchema,
    device_id: z.string().meta({ description: 'short_id of the device.' }),
    device_type: z
      .string()
      .meta({ description: 'Type of the device when the command was created.', example: 'teebox' }),
    command: z.string().meta({ description: 'Name of the command.', example: 'unlock' }),
    params: z.record(z.string(), z.unknown()).meta({ description: 'Parameters as sent.', example: {} }),
    metadata: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: 'Metadata as given; null for none.', example: { name: 'Jane' } }),
    status: commandStatusSchema.meta({
      description: 'Status of the command. completed, failed and timeout are final; pending is not sent yet.',
    }),
    requested_by: z.string().meta({
      description: 'user_id of the caller; auto-lock, closing or safe-lock for a command of the gateway itself.',
    }),
    created_at: isoSchema,
    expires_at: isoSchema.meta({
      description: 'Time after which the gateway neither sends the command nor waits for an acknowledgement.',
    }),
    published_at: timeSchema.meta({ description: 'Time at which it was first sent to the device.' }),
    acknowledged_at: timeSchema.meta({ description: 'Time at which the device acknowledged it.' }),
    completed_at: timeSchema.meta({ description: 'Time at which the device reported its completion.' }),
    error: z
      .string()
      .nullable()
      .meta({
        description:
          'Reason of the failure: as reported by the device, superseded, device_removed, or the reason for which a ' +
          'lock was not sent: cart_is_moving, position_unknown or admin_required.',
        example: null,
      }),
    retry_of: z.string().nullable().meta({ description: 'command_id of the repeated command.' }),
    forced: z.boolean().meta({
      description: 'True if the lock was sent although the rule of safe locks forbids it.',
    }),
    late_ack: z
      .object({
        status: ackStatusSchema,
        error: z.string().nullable().meta({ description: 'Reason, if it failed.' }),
        timestamp: isoSchema,
      })
      .nullable()
      .meta({ description: 'Acknowledgement received after the command had ended; it changes nothing.' }),
    device_removed: removedSchema,
  })
  .meta({ id: 'Command' })
export type CommandJson = z.infer<typeof commandSchema>

export const commandListSchema = z.object({
  commands: z.array(commandSchema),
  pagination: paginationSchema,
})
export const groupCommandsSchema = z.object({
  group_id: z.number().int().meta({ description: 'Group to which the command was sent.', example: 42 }),
  commands: z.array(commandSchema).meta({ description: 'Commands, one per device.' }),
  refused: z
    .array(
      z.object({
        hardware_id: hardwareIdSchema,
        code: z.string().meta({ description: 'Reason: cart_is_moving, or admin_required for force.' }),
      }),
    )
    .meta({ description: 'Devices that must not be locked now; they got no command.' }),
})

const statusParam = choiceParam(COMMAND_STATUSES, 'invalid_status')
  .optional()
  .meta({ description: 'Filter by status.' })

export const deviceCommandsQuerySchema = eventPageQuery('command_id').extend({ status: statusParam })
export const commandsQuerySchema = deviceCommandsQuerySchema.extend({
  hardware_id: z.string().optional().meta({
    description: 'Filter by device, since its registration; for a deleted device, everything that is kept.',
    example: 'cart-07',
  }),
  command: z.string().optional().meta({ description: 'Filter by name of the command.', example: 'unlock' }),
})

export const commandIdParams = z.object({ id: z.string().meta({ description: 'command_id' }) })

/** Header that makes a request safe to repeat. */
export const idempotencyHeaders = z.object({
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e]([\x20-\x7e]{0,253}[\x21-\x7e])?$/, 'must be 1 to 255 printable characters')
    .optional()
    .meta({
      description:
        'Idempotency key: a repetition with the same key and body, by the same user within 24 hours, returns the ' +
        'current state of the command and creates nothing.',
    }),
})
