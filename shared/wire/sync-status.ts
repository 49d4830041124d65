import { z } from 'zod'
import { SYNC_STATES } from '#shared/sync-status.ts'
import { auditKindSchema, syncStreamSchema, syncWarningSchema } from './replication/sync.ts'
import { isoSchema } from './schema/params.ts'

const count = z.number().int().min(0)

const streamSchema = z
  .object({
    stream: syncStreamSchema.meta({
      description: 'telemetry is live; history is what could not be sent when it was.',
    }),
    acked_seq: count.meta({ description: 'Position up to which the head office has everything.' }),
    acked_rows: count.meta({ description: 'Rows the head office has taken since the start.' }),
    waiting_rows: count.nullable().meta({
      description: 'Rows still to be sent; null when there are some that were not counted yet.',
      example: 0,
    }),
    oldest_at: isoSchema.nullable().meta({ description: 'Of the oldest row still to be sent.' }),
    trouble: z.string().nullable().meta({ description: 'Why it does not go on, in words; null if it does.' }),
  })
  .meta({ id: 'SyncStream' })

const auditCountSchema = z
  .object({
    kind: auditKindSchema,
    rows: count.meta({ description: 'Rows here that were compared.', example: 306179 }),
    confirmed: count.meta({ description: 'Those of them the head office has.', example: 306179 }),
    resent: count.meta({ description: 'Rows that were missing there and were sent again.' }),
    extra: count.meta({ description: 'Rows that only the head office has, as after retention.' }),
  })
  .meta({ id: 'SyncAuditCount' })

const auditSchema = z
  .object({
    state: z.enum(['idle', 'wanted', 'running']).meta({ description: 'wanted: as soon as what waits has been sent.' }),
    unconfirmed_rows: count.nullable().meta({
      description:
        'Rows that the head office may have lost, until a comparison shows that it has them; null while they are ' +
        'not counted.',
      example: 0,
    }),
    last: z
      .object({
        started_at: isoSchema,
        ended_at: isoSchema,
        is_everything: z.boolean().meta({
          description:
            'false: the nightly one, of the newest days and some older ones, or of what the head office asked for.',
        }),
        counts: z.array(auditCountSchema),
      })
      .nullable()
      .meta({ description: 'null before the first.' }),
  })
  .meta({ id: 'SyncAudit' })

const detailsSchema = z
  .object({
    upstream: z.string().meta({ description: 'Host of the head office.', example: 'hub.example.com' }),
    site: z.string().meta({ description: 'Which of its sites this gateway is.', example: 'links' }),
    epoch: z.string().meta({ description: 'Which database this is; another after a restore.' }),
    forked_from: z
      .object({
        epoch: z.string().meta({ description: 'As the head office knows it.' }),
        reason: z.string().meta({ description: 'For people.', example: 'restored from a backup' }),
      })
      .nullable()
      .meta({ description: 'The epoch before it, and why it did not go on.' }),
    last_contact_at: isoSchema.nullable().meta({ description: 'When the head office answered last.' }),
    last_error: z
      .object({ at: isoSchema, detail: z.string().meta({ description: 'For people.' }) })
      .nullable()
      .meta({ description: 'What went wrong last; it may long be over.' }),
    retry_in_s: z.number().nullable().meta({ description: 'Until the next attempt; null while connected.' }),
    warnings: z.array(z.enum([...syncWarningSchema.options, 'clock'])).meta({
      description:
        'two_gateways: another one sends as this site. quarantined: something could not be read there. clock: ' +
        'the clocks here and there differ by a minute or more.',
    }),
    clock_offset_ms: z.number().int().nullable().meta({
      description: 'How far the clock here is ahead of that of the head office; null before it answered.',
      example: 12,
    }),
    streams: z.array(streamSchema),
    sent_bytes: count.meta({ description: 'Bodies of requests since the start, as sent.' }),
    acked_rows: count.meta({ description: 'Rows the head office has taken since the start.' }),
    rows_per_second: z.number().meta({ description: 'Over the last three minutes.', example: 412.5 }),
    time_to_go_s: count.nullable().meta({ description: 'Until the backlog is sent; null if there is none.' }),
    audit: auditSchema,
  })
  .meta({ id: 'SyncDetails' })

export const syncStatusSchema = z
  .object({
    configured: z.boolean().meta({ description: 'false: this gateway has no head office.' }),
    state: z.enum(['not_configured', ...SYNC_STATES]).meta({
      example: 'in_sync',
      description:
        'in_sync: the head office has acknowledged all data except that of the last seconds. quarantined: as ' +
        'well, but it could not read some of it. The explanation says what the others mean.',
    }),
    explanation: z.string().meta({
      description: 'The state in words, and what to do about it.',
      example:
        'The head office has acknowledged all data except that of the last seconds, which the gateway is sending.',
    }),
    details: detailsSchema.nullable().meta({ description: 'null without a head office.' }),
  })
  .meta({ id: 'SyncStatus' })
export type SyncStatusJson = z.infer<typeof syncStatusSchema>

export const startedAuditSchema = z.object({ success: z.literal(true) }).meta({
  id: 'StartedSyncAudit',
  description: 'The comparison starts as soon as all waiting rows are sent.',
})
