import { z } from 'zod'
import { isoSchema } from './schema/params.ts'
import { certificateSchema } from './tls.ts'

export const subscriptionsSchema = z
  .object({
    totalConnections: z.number().int().meta({ description: 'Number of clients of /realtime.', example: 3 }),
    totalDevicesWatched: z.number().int().meta({
      description: 'Number of devices with at least one subscription.',
      example: 2,
    }),
    subscriptionsByDevice: z
      .record(z.string(), z.number().int())
      .meta({ description: 'Number of subscriptions per device.', example: { 'cart-07': 2, 'cart-08': 1 } }),
  })
  .meta({ id: 'Subscriptions', description: 'Subscriptions of clients on /realtime.' })

const damagedBlockSchema = z
  .object({
    hardware_id: z
      .string()
      .nullable()
      .meta({ description: 'Device of the data; null for a deleted device, and for log.', example: 'cart-07' }),
    stream: z.enum(['gps', 'battery', 'log']).meta({
      description: 'Stream; log means data that some devices had just sent, whose devices and times are unknown.',
    }),
    from: isoSchema.meta({ description: 'Time of the first measurement; for log, the time of detection.' }),
    to: isoSchema.meta({ description: 'Time of the last measurement; for log, the time of detection.' }),
    records: z.number().int().meta({
      description: 'Number of unreadable records; 0 if unknown: for the log, and with unreadable_page.',
      example: 2048,
    }),
    reason: z
      .enum(['not_a_block', 'wrong_length', 'wrong_checksum', 'impossible_content', 'unreadable_page'])
      .meta({ description: 'Kind of damage.' }),
    found_at: isoSchema.meta({ description: 'Time of detection.' }),
  })
  .meta({ id: 'DamagedBlock' })

export const damagedSchema = z
  .object({
    blocks: z.number().int().meta({ description: 'Number of quarantined blocks.', example: 1 }),
    records: z
      .number()
      .int()
      .meta({
        description:
          'Number of records in them, as far as they can be counted: 0 if their pages are unreadable. They are not ' +
          'counted anywhere else.',
        example: 2048,
      }),
    newest: z.array(damagedBlockSchema).meta({ description: 'Most recently detected damage, at most 20 entries.' }),
  })
  .meta({
    id: 'DamagedTelemetry',
    description: 'Damaged telemetry; all other telemetry is intact and served.',
  })

const foundDamageSchema = z
  .object({
    place: z.string().meta({
      description: 'Table of the database; log for its write-ahead log, schema, or file.',
      example: 'lock_event',
    }),
    outcome: z.enum(['set_aside', 'mended', 'lost', 'unreadable']).meta({
      description:
        'Outcome of the repair. mended: nothing is missing. set_aside: readable data is served, the damaged pages ' +
        'are quarantined. lost: data is missing. unreadable: the damage is not repaired yet.',
    }),
    detail: z.string().meta({
      description: 'Readable description of the damage, its effect and the remedy.',
      example: 'Table lock_event (the lock events): An index was damaged and was rebuilt; nothing is missing.',
    }),
    found_at: isoSchema.meta({ description: 'Time of detection.' }),
  })
  .meta({ id: 'FoundDamage', description: 'Data that the disk did not return as it was written.' })

export const diskUseSchema = z
  .object({
    state: z.enum(['low', 'critical']).meta({
      description:
        'State of the disk. low: 80 % of the budget is used. critical: 98 %, and data that exists nowhere else is ' +
        'at risk.',
    }),
    used_bytes: z.number().int().meta({ description: 'Size of the data folder in bytes.', example: 24_100_000_000 }),
    budget_bytes: z.number().int().meta({
      description: 'Maximum size of the data folder in bytes.',
      example: 29_800_000_000,
    }),
    detail: z.string().meta({ description: 'Readable description of the measures taken.', example: '80 % is used' }),
  })
  .meta({ id: 'DiskUse' })

export const healthSchema = z
  .object({
    status: z.enum(['ok', 'error', 'starting', 'upgrading', 'restoring']).meta({
      description:
        'Status of the gateway. error: nothing can be stored. upgrading: the database is being upgraded to the ' +
        'schema of this program, and devices cannot connect. restoring: the same while a new gateway restores a ' +
        'backup. starting: either is complete, and the gateway is about to be ready.',
    }),
    timestamp: isoSchema,
    migration: z.string().optional().meta({
      description: 'Current migration, while upgrading; absent during the backup before it.',
      example: '025-zone-event-indexes',
    }),
    done: z.number().int().optional().meta({ description: 'Number of completed migrations.', example: 2 }),
    of: z.number().int().optional().meta({ description: 'Number of migrations in this upgrade.', example: 5 }),
    detail: z.string().optional().meta({ description: 'Fault in words, for admins.' }),
    clock: z.enum(['confirmed', 'trusted', 'untrusted']).meta({
      description:
        'Trust in the clock. untrusted: times are estimates. trusted: nothing contradicts it. confirmed: since the ' +
        'start it was confirmed by time synchronisation, by a battery-backed clock, by two devices with clocks of ' +
        'their own, or by an admin; automatic locks and alerts wait for that.',
    }),
    clock_doubt: z
      .enum(['not_set', 'set_back', 'ahead'])
      .optional()
      .meta({
        description:
          'Clock fault; nothing is deleted by age meanwhile. not_set: the system clock is certainly wrong. ' +
          'set_back: it was set back while the gateway ran. In both cases times are estimates. ahead: it is ahead ' +
          'of the time that is known to have passed. Absent without a fault. For admins.',
      }),
    clock_detail: z.string().optional().meta({
      description: 'Readable description of the clock fault, with the remedy. For admins.',
      example: 'The clock of the gateway computer shows 2029-05-01T08:30:00.000Z …',
    }),
    machine: z
      .literal('other')
      .optional()
      .meta({
        description:
          'Present if the data was used on another gateway computer: a copied card, or a new computer. Until an ' +
          'admin resolves this (POST /machine/confirm, or the command new-site), nothing is sent to the head office ' +
          'and no nightly backup is made.',
      }),
    machine_detail: z.string().optional().meta({
      description: 'Readable description of the difference between the computers, with the remedy. For admins.',
    }),
    damaged_telemetry: damagedSchema.optional().meta({
      description:
        'Damaged telemetry; absent if none was found since the last repair, which restores readable data. Data lost ' +
        'then is listed in the warnings of histories. For admins.',
    }),
    last_check_at: isoSchema.optional().meta({
      description: 'End of the last check of the whole database; absent until the first one. For admins.',
    }),
    damage: z
      .array(foundDamageSchema)
      .optional()
      .meta({
        description:
          'Damage to the database that was found since the start, and earlier quarantined data. Absent without any. ' +
          'For admins.',
      }),
    backup: z
      .object({
        last_good_at: isoSchema.nullable().meta({
          description: 'Time of the last good backup; null if none succeeded since the target was set.',
        }),
        overdue: z.boolean().meta({ description: 'True if there was no good backup for 36 hours.' }),
        detail: z.string().optional().meta({ description: 'Readable reason for which the last attempt failed.' }),
      })
      .optional()
      .meta({ description: 'State of the nightly backups; absent without a target. For admins.' }),
    went_back: z
      .object({
        from: z.string().meta({ description: 'Version that failed to start.', example: '1.1.0' }),
        to: z.string().meta({ description: 'Previous version, which is running.', example: '1.0.0' }),
        at: isoSchema.meta({ description: 'Time of the rollback.' }),
        detail: z.string().meta({
          description: 'Readable reason for which the new version failed.',
          example: 'it ended with code 1: no such column: tee',
        }),
      })
      .optional()
      .meta({
        description:
          'Rollback of the last upgrade, which failed. Absent without one, and from the next upgrade on. For admins.',
      }),
    certificate: certificateSchema.optional().meta({
      description: 'Certificate in use; absent without TLS. For admins.',
    }),
    disk: diskUseSchema.optional().meta({
      description: 'State of the disk; absent while there is enough space. For admins.',
    }),
    subscriptions: subscriptionsSchema.optional().meta({ description: 'Subscriptions on /realtime. For admins.' }),
  })
  .meta({ id: 'Health' })

export const statsSchema = z
  .object({
    devices: z.number().int().meta({ description: 'Number of registered devices.', example: 84 }),
    telemetry: z
      .object({ gps: z.number().int(), battery: z.number().int() })
      .meta({ description: 'Number of stored records.', example: { gps: 1200411, battery: 100703 } }),
    commands: z.number().int().meta({ description: 'Number of stored commands.', example: 512 }),
    subscriptions: subscriptionsSchema,
  })
  .meta({ id: 'Stats' })

export const confirmedMachineSchema = z.object({ machine: z.literal('confirmed') }).meta({ id: 'ConfirmedMachine' })
