import { z } from 'zod'
import { courseChunkBodySchema } from '../course.ts'
import { MAX_INTENT_SEQ, SYNC_STREAMS } from './replicated.ts'

/** Version of everything in this file; a hub accepts it and older ones. */
export const SYNC_PROTOCOL = 1

/**
 * Header of every hub response: the time of the response, in milliseconds since 1970. From an older hub a gateway uses
 * the header Date, which has a resolution of seconds and which a proxy may replace.
 */
export const HUB_TIME_HEADER = 'cartbarn-time'

export const syncStreamSchema = z.enum(SYNC_STREAMS)
export type SyncStream = z.infer<typeof syncStreamSchema>

/** List validated up to its first invalid item, the only one reported: millions of errors would exhaust the memory. */
function listOf<Item extends z.ZodType>(item: Item, { least = 0, most = Number.POSITIVE_INFINITY } = {}) {
  return z
    .array(z.unknown())
    .min(least)
    .max(most)
    .transform((values, context) => {
      const items: z.output<Item>[] = []
      for (const [i, value] of values.entries()) {
        const { success, data, error } = item.safeParse(value)
        if (success) items.push(data)
        else {
          // an issue of an item becomes one of the list, at another path
          for (const issue of error.issues)
            context.issues.push({ ...issue, input: value, path: [i, ...issue.path] } as z.core.$ZodRawIssue)
          return z.NEVER
        }
      }
      return items
    })
}

const seqSchema = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER)
export const timeMsSchema = z.number().int().min(-8_640_000_000_000_000).max(8_640_000_000_000_000)
/** 32 bytes. */
const hashSchema = z.string().regex(/^[0-9a-f]{64}$/)
/** 64 bits. */
const sumSchema = z.string().regex(/^[0-9a-f]{16}$/)
const epochSchema = z.string().regex(/^[0-9a-f]{32}$/)
const instanceSchema = z.uuid()

/** Position of a stream: everything up to `seq` is applied, and `hash` chains all batches up to there. */
export const cursorSchema = z.object({
  seq: seqSchema.meta({ description: 'Last applied number of the stream.' }),
  hash: hashSchema.meta({ description: 'Hash that chains all batches up to there.' }),
})
export type SyncCursor = z.infer<typeof cursorSchema>

const cursorsSchema = z.record(syncStreamSchema, cursorSchema)
export type SyncCursors = z.infer<typeof cursorsSchema>

/** Current limits of the hub; a gateway follows the newest ones that it received. */
export const syncLimitsSchema = z.object({
  /** Maximum size of the data of one batch, before base64. */
  part_bytes: z.number().int().min(1024),
  /** Maximum size of one request, before gzip. */
  body_bytes: z.number().int().min(4096),
  parts: z.number().int().min(1),
  /** Minimum interval between two pushes of telemetry or history. */
  min_interval_ms: z.number().int().min(0),
  latest_interval_ms: z.number().int().min(1000),
  /** Maximum number of records per push. Older hubs omit it. */
  records: z.number().int().min(1).optional(),
  /** Maximum sustained rate; absent if the hub has none or is older. */
  records_per_second: z.number().int().min(1).optional(),
})
export type SyncLimits = z.infer<typeof syncLimitsSchema>

/** 400: the hub stores as much of the site as it may. The other streams of the request may still be sent separately. */
export const SITE_FULL = 'site_full'

/** Problems of a site that only the hub can detect. */
export const syncWarningSchema = z.enum(['two_gateways', 'quarantined'])
export type SyncWarning = z.infer<typeof syncWarningSchema>

export const helloSchema = z.strictObject({
  protocol: z.number().int().min(1),
  site: z.string().min(1).max(64),
  epoch: epochSchema,
  /** Changes at each start of the gateway. */
  instance: instanceSchema,
  forked_from: z.strictObject({ epoch: epochSchema, reason: z.string().max(200) }).nullable(),
  program: z.string().max(64),
  clock_ms: timeMsSchema,
  clock_trusted: z.boolean(),
  /** Last sequence number ever assigned in each stream. */
  ends: z.record(syncStreamSchema, seqSchema),
})
export type Hello = z.infer<typeof helloSchema>

/**
 * 409 `ahead`: the hub has more of this epoch than the gateway ever had. 409 `foreign_epoch`: it is of another site.
 */
export const helloAnswerSchema = z.object({
  server_time_ms: timeMsSchema,
  cursors: cursorsSchema,
  limits: syncLimitsSchema,
  warnings: z.array(syncWarningSchema),
  /** True if the hub supports `through_ms` in audits. Older hubs omit this field, and reject `through_ms`. */
  audits_through: z.boolean().optional(),
})
export type HelloAnswer = z.infer<typeof helloAnswerSchema>

/**
 * Data of a batch: a JSON array of rows in UTF-8, short runs (telemetry/runs.ts) or whole blocks (telemetry/blocks.ts).
 */
export const partEncodingSchema = z.enum(['rows-1', 'runs-1', 'blocks-1'])
export type PartEncoding = z.infer<typeof partEncodingSchema>

/** More rows than any batch can hold. */
const MAX_PART_ROWS = 1_000_000

/** Batch of a stream: all after `from` up to `to`. Gaps are legal: `count` may be less than the number of positions. */
export const partSchema = z.strictObject({
  stream: syncStreamSchema,
  from: seqSchema,
  to: seqSchema,
  /** Number of rows; in telemetry and history, of GPS and battery records. */
  count: z.number().int().min(0).max(MAX_PART_ROWS),
  prev_hash: hashSchema,
  /** `partHash` of this batch. */
  hash: hashSchema,
  encoding: z.string().min(1).max(32),
  /** Base64. */
  data: z.string(),
  /** Data that an audit found missing: moves no cursor, `from` and `to` are 0, and existing rows stay unchanged. */
  is_resend: z.boolean().optional(),
})
export type SyncPart = z.infer<typeof partSchema>

export const pushSchema = z.strictObject({
  epoch: epochSchema,
  instance: instanceSchema,
  parts: listOf(partSchema, { least: 1 }),
})
export type Push = z.infer<typeof pushSchema>

/** Acknowledged data is committed. */
export const pushAnswerSchema = z.object({
  acked: z.partialRecord(syncStreamSchema, cursorSchema),
  limits: syncLimitsSchema,
  /** True if there are intents after the last one that the gateway requested. */
  intents_waiting: z.boolean(),
  warnings: z.array(syncWarningSchema),
})
export type PushAnswer = z.infer<typeof pushAnswerSchema>

/** Problem body of 409 `cursor`: the actual positions of the streams. Nothing of the request was applied. */
export const cursorProblemSchema = z.object({ code: z.literal('cursor'), cursors: cursorsSchema })

/** States of devices, each in the form of `GET /devices/:id` of the gateway. Lossy: only the newest state matters. */
export const latestSchema = z.strictObject({
  epoch: epochSchema,
  instance: instanceSchema,
  at_ms: timeMsSchema,
  /** True if `devices` contains all registered devices, so that others are deleted. */
  is_complete: z.boolean(),
  devices: listOf(z.record(z.string(), z.unknown())),
  /** Backlog of the gateway, for `GET /sites`. A hub ignores unknown fields. */
  backlog: z.object({
    rows: z.number().int().min(0),
    oldest_ms: timeMsSchema.nullable(),
    /**
     * Acknowledged rows that the hub may have lost, 0 if all are confirmed, null until counted. Older gateways omit it.
     */
    unconfirmed_rows: z.number().int().min(0).nullable().optional(),
    /** Acknowledged position of each stream; a hub that has less has lost data, and responds with 409 `cursor`. */
    acked: z.partialRecord(syncStreamSchema, seqSchema).optional(),
  }),
})
export type Latest = z.infer<typeof latestSchema>

export const latestAnswerSchema = z.object({ limits: syncLimitsSchema, intents_waiting: z.boolean() })

/** Comparable data: rows of a day by device (`notes`: one group named ''), entities by table without a day. */
export const auditKindSchema = z.enum(['gps', 'battery', 'lock_events', 'geofence_events', 'notes', 'entities'])
export type AuditKind = z.infer<typeof auditKindSchema>
export const AUDIT_KINDS: readonly AuditKind[] = auditKindSchema.options

export const auditGroupSchema = z.strictObject({
  /** hardware_id, or the table of entities. */
  group: z.string().max(64),
  count: z.number().int().min(0).max(1_000_000_000),
  /** Order-independent sum of the row hashes. */
  sum: sumSchema,
  /**
   * Upper time limit of the comparison, without rows that arrived after the count. Only for hubs with `audits_through`.
   */
  through_ms: timeMsSchema.optional(),
})
export type AuditGroup = z.infer<typeof auditGroupSchema>

export const auditSchema = z.strictObject({
  epoch: epochSchema,
  instance: instanceSchema,
  kind: auditKindSchema,
  /** Midnight, UTC; null for entities. */
  day_ms: timeMsSchema.nullable(),
  groups: listOf(auditGroupSchema, { most: 100_000 }),
})
export type Audit = z.infer<typeof auditSchema>

/** `resend` lists groups of which the hub lacks rows; `extra` lists groups with rows that the gateway lacks. */
export const auditAnswerSchema = z.object({
  resend: z.array(z.string()),
  extra: z.array(z.object({ group: z.string(), count: z.number().int() })),
})
export type AuditAnswer = z.infer<typeof auditAnswerSchema>

// Rows of `rows-1` batches. A hub keeps unknown fields.

/** Registration of the device that the row belongs to; older gateways omit it. */
const registrationSchema = z.string().min(1).max(64).optional()

export const lockEventRowSchema = z.looseObject({
  seq: seqSchema,
  event_id: z.string().min(1).max(128),
  hardware_id: z.string().min(1).max(64),
  event: z.string().max(64),
  source: z.string().max(64),
  at_ms: timeMsSchema,
  code: z.string().nullable(),
  command_id: z.string().nullable(),
  /** JSON, or null. */
  metadata: z.unknown(),
  short_id: registrationSchema,
})

export const geofenceEventRowSchema = z.looseObject({
  seq: seqSchema,
  event_id: z.string().min(1).max(128),
  hardware_id: z.string().min(1).max(64),
  event: z.string().max(64),
  group_id: z.number().int(),
  zone_id: z.string(),
  zone_name: z.string(),
  zone_type: z.string(),
  at_ms: timeMsSchema,
  lat: z.number(),
  long: z.number(),
  short_id: registrationSchema,
})

const telemetryKindSchema = z.enum(['gps', 'battery'])

/** Records were dropped before they were acknowledged; the hub lacks at most `count` rows of these times. */
export const gapSchema = z.object({
  stream: telemetryKindSchema,
  from_ms: timeMsSchema,
  to_ms: timeMsSchema,
  count: z.number().int().min(0).max(1_000_000_000_000),
  hardware_ids: z.array(z.string()),
  reason: z.enum(['purge', 'disk', 'damage']),
})
export type Gap = z.infer<typeof gapSchema>

/** All records of these kinds of a device must be deleted, also in batches of this epoch up to these positions. */
export const eraseSchema = z.object({
  hardware_id: z.string(),
  kinds: z.array(telemetryKindSchema).min(1),
  telemetry_through: seqSchema,
  history_through: seqSchema,
})
export type Erase = z.infer<typeof eraseSchema>

export const intentStatusSchema = z.enum(['pending', 'applied', 'rejected', 'expired', 'superseded'])
export type IntentStatus = z.infer<typeof intentStatusSchema>

export const intentResultSchema = z.object({
  intent_id: z.string(),
  status: intentStatusSchema,
  /** Readable reason; null if it was applied. */
  reason: z.string().nullable(),
})
export type IntentResult = z.infer<typeof intentResultSchema>

/** Report of the gateway about itself and its data. */
export const noteRowSchema = z.looseObject({
  seq: seqSchema,
  note_id: z.string().min(1).max(128),
  kind: z.string().max(32),
  at_ms: timeMsSchema,
  /** `gap`: gapSchema, `erase`: eraseSchema, `blank`: blankSchema, `intent_result`: intentResultSchema. */
  body: z.record(z.string(), z.unknown()),
})
export type NoteSyncRow = z.infer<typeof noteRowSchema>

export const entityRowSchema = z.looseObject({
  seq: seqSchema,
  table: z.string().min(1).max(64),
  key: z.string().min(1).max(256),
  body: z.record(z.string(), z.unknown()).nullable(),
})
export type EntitySyncRow = z.infer<typeof entityRowSchema>

const groupIdSchema = z.number().int()

/** Bodies that a hub displays; it does not read any others. Unknown fields are kept. */
export const deviceGroupBodySchema = z.looseObject({
  group_id: groupIdSchema,
  name: z.string(),
  created_at_ms: timeMsSchema,
  updated_at_ms: timeMsSchema,
})
export type DeviceGroupBody = z.infer<typeof deviceGroupBodySchema>
/** Entry of the audit log. Only an erasure changes it, and a hub keeps it when the gateway deletes it for its age. */
export const auditEntryBodySchema = z.looseObject({
  at_ms: timeMsSchema,
  user_id: z.string().max(128).nullable(),
  person: z.object({ user_id: z.string(), name: z.string() }).nullable(),
  session_id: z.string().nullable(),
  address: z.string().nullable(),
  action: z.string().max(128),
  target: z.string(),
  before: z.record(z.string(), z.unknown()).nullable(),
  after: z.record(z.string(), z.unknown()).nullable(),
})
export type AuditEntryBody = z.infer<typeof auditEntryBodySchema>

/** Alert. A gateway may know more kinds than a hub. */
export const alertBodySchema = z.looseObject({
  alert_id: z.string(),
  kind: z.string().max(64),
  cart: z.string().nullable(),
  hardware_id: z.string().nullable(),
  opened_at_ms: timeMsSchema,
  closed_at_ms: timeMsSchema.nullable(),
  acknowledged_at_ms: timeMsSchema.nullable(),
  acknowledged_by: z.object({ user_id: z.string(), name: z.string() }).nullable(),
  note: z.string().nullable(),
  details: z.record(z.string(), z.unknown()),
})
export type AlertBody = z.infer<typeof alertBodySchema>

const ENTITY_BODIES: Readonly<Record<string, z.ZodType>> = {
  device_group: deviceGroupBodySchema,
  geofence_set: z.looseObject({ version: z.number().int().min(0) }),
  device: z.looseObject({ group_id: groupIdSchema.nullish() }),
  audit_entry: auditEntryBodySchema,
  alert: alertBodySchema,
  course_piece: courseChunkBodySchema,
}

/** Returns the schema of an entity's body; undefined for a table whose rows a hub only stores. */
export function entityBodySchema(table: string): z.ZodType | undefined {
  return Object.hasOwn(ENTITY_BODIES, table) ? ENTITY_BODIES[table] : undefined
}

export const INTENT_KINDS = ['config.set', 'geofence.put', 'command.send', 'user.disable', 'resend'] as const
/** Kinds that a gateway of this version knows. */
export const intentKindSchema = z.enum(INTENT_KINDS)
export type IntentKind = z.infer<typeof intentKindSchema>

/** Intent of the hub. `base_rev`: its base revision; if the site has changed it since, the site takes precedence. */
export const intentSchema = z.object({
  intent_id: z.string().min(1).max(64),
  seq: z.number().int().min(0).max(MAX_INTENT_SEQ),
  /** Item of `INTENT_KINDS`; a gateway rejects an unknown one and continues with the next. */
  kind: z.string().min(1).max(32),
  body: z.record(z.string(), z.unknown()),
  issued_at_ms: timeMsSchema,
  expires_at_ms: timeMsSchema,
  base_rev: z.string().max(64).nullable(),
})
export type Intent = z.infer<typeof intentSchema>

export const intentsAnswerSchema = z.object({ intents: z.array(intentSchema) })
