import { z } from 'zod'
import { SYNC_STATES } from '#shared/sync-status.ts'
import { auditKindSchema, syncStreamSchema, syncWarningSchema } from './replication/sync.ts'
import { isoSchema } from './schema/params.ts'

const count = z.number().int().min(0)

const streamSchema = z
  .object({
    stream: syncStreamSchema.meta({
      description: 'Stream; telemetry is live data, history is data that could not be sent live.',
    }),
    acked_seq: count.meta({ description: 'Position up to which the head office has everything.' }),
    acked_rows: count.meta({ description: 'Number of rows acknowledged by the head office since the start.' }),
    waiting_rows: count.nullable().meta({
      description: 'Number of rows not sent yet; null while they are not all counted.',
      example: 0,
    }),
    oldest_at: isoSchema.nullable().meta({ description: 'Time of the oldest row not sent yet.' }),
    trouble: z.string().nullable().meta({ description: 'Reason for which the stream is stopped; null while it runs.' }),
  })
  .meta({ id: 'SyncStream' })

const auditCountSchema = z
  .object({
    kind: auditKindSchema,
    rows: count.meta({ description: 'Number of compared local rows.', example: 306179 }),
    confirmed: count.meta({ description: 'Number of these rows that the head office has.', example: 306179 }),
    resent: count.meta({ description: 'Number of missing rows that were resent.' }),
    extra: count.meta({ description: 'Number of rows that only the head office has, for example after retention.' }),
  })
  .meta({ id: 'SyncAuditCount' })

const auditSchema = z
  .object({
    state: z.enum(['idle', 'wanted', 'running']).meta({
      description: 'State of the comparison. wanted: starts when all waiting rows are sent.',
    }),
    unconfirmed_rows: count.nullable().meta({
      description:
        'Rows that the head office may have lost, until a comparison confirms them; null while they are not counted.',
      example: 0,
    }),
    last: z
      .object({
        started_at: isoSchema,
        ended_at: isoSchema,
        is_everything: z.boolean().meta({
          description:
            'False for the nightly comparison, of the newest days and some older ones, or for one that the head ' +
            'office requested.',
        }),
        counts: z.array(auditCountSchema),
      })
      .nullable()
      .meta({ description: 'Last comparison; null before the first one.' }),
  })
  .meta({ id: 'SyncAudit' })

const detailsSchema = z
  .object({
    upstream: z.string().meta({ description: 'Host of the head office.', example: 'hub.example.com' }),
    site: z.string().meta({ description: 'Site id of this gateway at the head office.', example: 'links' }),
    epoch: z.string().meta({ description: 'Epoch of this database; changes with a restore.' }),
    forked_from: z
      .object({
        epoch: z.string().meta({ description: 'Id of the preceding epoch at the head office.' }),
        reason: z.string().meta({ description: 'Readable reason.', example: 'restored from a backup' }),
      })
      .nullable()
      .meta({ description: 'Preceding epoch, and the reason for the new one.' }),
    last_contact_at: isoSchema.nullable().meta({ description: 'Time of the last response of the head office.' }),
    last_error: z
      .object({ at: isoSchema, detail: z.string().meta({ description: 'Readable details.' }) })
      .nullable()
      .meta({ description: 'Last error, which may be resolved already.' }),
    retry_in_s: z.number().nullable().meta({ description: 'Seconds until the next attempt; null while connected.' }),
    warnings: z.array(z.enum([...syncWarningSchema.options, 'clock'])).meta({
      description:
        'Problems. two_gateways: another gateway sends as this site. quarantined: the head office could not read ' +
        'some data. clock: the clocks of gateway and head office differ by a minute or more.',
    }),
    clock_offset_ms: z.number().int().nullable().meta({
      description:
        'Offset of the local clock, positive if it is ahead of the head office; null before the first response.',
      example: 12,
    }),
    streams: z.array(streamSchema),
    sent_bytes: count.meta({ description: 'Size of all request bodies sent since the start, in bytes.' }),
    acked_rows: count.meta({ description: 'Number of rows acknowledged by the head office since the start.' }),
    rows_per_second: z.number().meta({ description: 'Rate over the last three minutes.', example: 412.5 }),
    time_to_go_s: count.nullable().meta({
      description: 'Estimated seconds until the backlog is sent; null without one.',
    }),
    audit: auditSchema,
  })
  .meta({ id: 'SyncDetails' })

export const syncStatusSchema = z
  .object({
    configured: z.boolean().meta({ description: 'False if this gateway has no head office.' }),
    state: z.enum(['not_configured', ...SYNC_STATES]).meta({
      example: 'in_sync',
      description:
        'State of the sync. in_sync: the head office has acknowledged all data except for the last seconds. ' +
        'quarantined: likewise, but it could not read some of the data. The explanation describes all other states.',
    }),
    explanation: z.string().meta({
      description: 'State in words, with the remedy.',
      example:
        'The head office has acknowledged all data except that of the last seconds, which the gateway is sending.',
    }),
    details: detailsSchema.nullable().meta({ description: 'Details; null without a head office.' }),
  })
  .meta({ id: 'SyncStatus' })
export type SyncStatusJson = z.infer<typeof syncStatusSchema>

export const startedAuditSchema = z.object({ success: z.literal(true) }).meta({
  id: 'StartedSyncAudit',
  description: 'Comparison that starts when all waiting rows are sent.',
})
