import { z } from 'zod'
import { isoSchema } from './schema/params.ts'
import { certificateSchema } from './tls.ts'

export const subscriptionsSchema = z
  .object({
    totalConnections: z.number().int().meta({ description: 'Clients of /realtime.', example: 3 }),
    totalDevicesWatched: z.number().int().meta({ description: 'Devices at least one of them watches.', example: 2 }),
    subscriptionsByDevice: z
      .record(z.string(), z.number().int())
      .meta({ description: 'How many watch each.', example: { 'cart-07': 2, 'cart-08': 1 } }),
  })
  .meta({ id: 'Subscriptions', description: 'The subscriptions of clients on /realtime.' })

const damagedBlockSchema = z
  .object({
    hardware_id: z
      .string()
      .nullable()
      .meta({ description: 'The device; null once it is deleted, and of log.', example: 'cart-07' }),
    stream: z.enum(['gps', 'battery', 'log']).meta({
      description:
        'What was measured; log for what some devices had just sent, of which neither they nor the times are known.',
    }),
    from: isoSchema.meta({ description: 'When the first record was measured; of log, when it was noticed.' }),
    to: isoSchema.meta({ description: 'When the last record was measured; of log, when it was noticed.' }),
    records: z.number().int().meta({
      description:
        'Records that cannot be read; 0 where the number is not known: for the log, and with unreadable_page.',
      example: 2048,
    }),
    reason: z
      .enum(['not_a_block', 'wrong_length', 'wrong_checksum', 'impossible_content', 'unreadable_page'])
      .meta({ description: 'What is wrong with it.' }),
    found_at: isoSchema.meta({ description: 'When it was noticed.' }),
  })
  .meta({ id: 'DamagedBlock' })

export const damagedSchema = z
  .object({
    blocks: z.number().int().meta({ description: 'Blocks that were put aside.', example: 1 }),
    records: z
      .number()
      .int()
      .meta({
        description:
          'Records in them, as far as they can be counted: 0 where their pages cannot be read. They are not ' +
          'counted anywhere else.',
        example: 2048,
      }),
    newest: z.array(damagedBlockSchema).meta({ description: 'Those found last, at most 20.' }),
  })
  .meta({
    id: 'DamagedTelemetry',
    description: 'Telemetry that is not on the disk as it was written; the rest is whole and served.',
  })

const foundDamageSchema = z
  .object({
    place: z.string().meta({
      description: 'The table of the database; log for its write-ahead log, schema, or file.',
      example: 'lock_event',
    }),
    outcome: z.enum(['set_aside', 'mended', 'lost', 'unreadable']).meta({
      description:
        'mended: nothing is missing. set_aside: what could be read is served, the damaged pages were put aside. ' +
        'lost: something is gone. unreadable: it is still in the way.',
    }),
    detail: z.string().meta({
      description: 'What is wrong, what it means and what to do, for people.',
      example: 'Table lock_event (the lock events): An index of it was damaged and was made anew; nothing is missing.',
    }),
    found_at: isoSchema.meta({ description: 'When it was found.' }),
  })
  .meta({ id: 'FoundDamage', description: 'What the disk did not give back as it was written.' })

export const diskUseSchema = z
  .object({
    state: z.enum(['low', 'critical']).meta({
      description: 'low: 80 % of the budget is used. critical: 98 %, and data that exists nowhere else is in danger.',
    }),
    used_bytes: z.number().int().meta({ description: 'What the data folder uses.', example: 24_100_000_000 }),
    budget_bytes: z.number().int().meta({ description: 'What it may use.', example: 29_800_000_000 }),
    detail: z.string().meta({ description: 'What is done about it, for people.', example: '80 % is used' }),
  })
  .meta({ id: 'DiskUse' })

export const healthSchema = z
  .object({
    status: z.enum(['ok', 'error', 'starting', 'upgrading']).meta({
      description:
        'error: nothing can be stored. upgrading: the database is brought to the schema of this program, and no ' +
        'device is let in. starting: that is done, and the gateway is about to be there.',
    }),
    timestamp: isoSchema,
    migration: z.string().optional().meta({
      description: 'With upgrading: what is being done; absent while the backup before it is made.',
      example: '025-zone-event-indexes',
    }),
    done: z.number().int().optional().meta({ description: 'Migrations that are done.', example: 2 }),
    of: z.number().int().optional().meta({ description: 'Migrations of this upgrade.', example: 5 }),
    detail: z.string().optional().meta({ description: 'What is wrong, for admins.' }),
    clock: z.enum(['confirmed', 'trusted', 'untrusted']).meta({
      description:
        'How sure the gateway is of its time. untrusted: times are estimates. trusted: nothing speaks against ' +
        'it. confirmed: since the start the system is synchronized, or a battery clock, two devices with clocks ' +
        'of their own or an admin agree; locks and alerts that act by themselves wait for that.',
    }),
    clock_doubt: z
      .enum(['not_set', 'set_back', 'ahead'])
      .optional()
      .meta({
        description:
          'The clock is in doubt, and nothing is deleted by age. not_set: the system clock cannot be right. ' +
          'set_back: it was set back while the gateway ran. In both cases times are estimates. ahead: it is ' +
          'further on than what is known to have gone by. Absent while all is well. For admins.',
      }),
    clock_detail: z.string().optional().meta({
      description: 'What is wrong with the clock and what to do about it, for people. For admins.',
      example: 'The clock of this machine shows 2029-05-01T08:30:00.000Z …',
    }),
    machine: z
      .literal('other')
      .optional()
      .meta({
        description:
          'The data was used on another machine: a copied card, or a new machine. Until an admin says which (POST ' +
          '/machine/confirm, or the command new-site), the head office is sent nothing and no nightly backup is ' +
          'made. Absent otherwise.',
      }),
    machine_detail: z.string().optional().meta({
      description: 'By what the machine is another one, and what to do, for people. For admins.',
    }),
    damaged_telemetry: damagedSchema.optional().meta({
      description:
        'Absent when nothing was found damaged since the last repair, which puts back what can be read; what is ' +
        'gone then is in the warnings of histories. For admins.',
    }),
    last_check_at: isoSchema.optional().meta({
      description: 'When the last check of the whole database ended; absent until one was done. For admins.',
    }),
    damage: z
      .array(foundDamageSchema)
      .optional()
      .meta({
        description:
          'Damage of the database that was found since the start, and what was put aside before. Absent without ' +
          'any. For admins.',
      }),
    backup: z
      .object({
        last_good_at: isoSchema.nullable().meta({ description: 'Null: none since the place was set.' }),
        overdue: z.boolean().meta({ description: 'No good backup for 36 hours.' }),
        detail: z.string().optional().meta({ description: 'Why the last attempt failed, for people.' }),
      })
      .optional()
      .meta({ description: 'Nightly backups; absent without a place for them. For admins.' }),
    went_back: z
      .object({
        from: z.string().meta({ description: 'The version that could not run.', example: '1.1.0' }),
        to: z.string().meta({ description: 'The one before it, which runs.', example: '1.0.0' }),
        at: isoSchema.meta({ description: 'When it was put back in place.' }),
        detail: z.string().meta({
          description: 'Why the other could not run, for people.',
          example: 'it ended with code 1: no such column: tee',
        }),
      })
      .optional()
      .meta({
        description:
          'The last upgrade failed and was undone. Absent without one, and from the next upgrade on. For admins.',
      }),
    certificate: certificateSchema.optional().meta({ description: 'Absent without TLS. For admins.' }),
    disk: diskUseSchema.optional().meta({ description: 'Absent while there is room. For admins.' }),
    subscriptions: subscriptionsSchema.optional().meta({ description: 'For admins.' }),
  })
  .meta({ id: 'Health' })

export const statsSchema = z
  .object({
    devices: z.number().int().meta({ description: 'Registered devices.', example: 84 }),
    telemetry: z
      .object({ gps: z.number().int(), battery: z.number().int() })
      .meta({ description: 'Records kept.', example: { gps: 1200411, battery: 100703 } }),
    commands: z.number().int().meta({ description: 'Commands kept.', example: 512 }),
    subscriptions: subscriptionsSchema,
  })
  .meta({ id: 'Stats' })

export const confirmedMachineSchema = z.object({ machine: z.literal('confirmed') }).meta({ id: 'ConfirmedMachine' })
