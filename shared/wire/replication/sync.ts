import { z } from 'zod'
import { courseChunkBodySchema } from '../course.ts'
import { MAX_INTENT_SEQ, SYNC_STREAMS } from './replicated.ts'

/** The version of everything in this file; a hub takes this one and older ones. */
export const SYNC_PROTOCOL = 1

/**
 * In every answer of a hub: its time when it answered, in milliseconds since 1970. A gateway takes the header Date of
 * an older hub, which has seconds, and which a proxy may replace by its own.
 */
export const HUB_TIME_HEADER = 'cartbarn-time'

export const syncStreamSchema = z.enum(SYNC_STREAMS)
export type SyncStream = z.infer<typeof syncStreamSchema>

/**
 * A list that is checked up to the first item that does not fit, which alone is in the error: of a body of millions of
 * wrong items an error for each would fill the memory.
 */
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
          // an issue of an item is one of the list, at another path
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

/** Where a stream is: everything up to `seq` is taken, and `hash` chains all parts up to there. */
export const cursorSchema = z.object({
  seq: seqSchema.meta({ description: 'The last number of the stream that is taken.' }),
  hash: hashSchema.meta({ description: 'Chains all parts up to there.' }),
})
export type SyncCursor = z.infer<typeof cursorSchema>

const cursorsSchema = z.record(syncStreamSchema, cursorSchema)
export type SyncCursors = z.infer<typeof cursorsSchema>

/** What the hub can take now; a gateway keeps to the newest it was told. */
export const syncLimitsSchema = z.object({
  /** Of the data of one part, before base64. */
  part_bytes: z.number().int().min(1024),
  /** Of one request, before gzip. */
  body_bytes: z.number().int().min(4096),
  parts: z.number().int().min(1),
  /** Between two pushes of telemetry or history. */
  min_interval_ms: z.number().int().min(0),
  latest_interval_ms: z.number().int().min(1000),
  /** Of one push. An older hub does not say. */
  records: z.number().int().min(1).optional(),
  /** Over time; a hub that has none, or an older one, does not say. */
  records_per_second: z.number().int().min(1).optional(),
})
export type SyncLimits = z.infer<typeof syncLimitsSchema>

/** 400: the hub keeps as much of the site as it may. The other streams of the request may still go alone. */
export const SITE_FULL = 'site_full'

/** States of a site that the hub sees and the gateway cannot. */
export const syncWarningSchema = z.enum(['two_gateways', 'quarantined'])
export type SyncWarning = z.infer<typeof syncWarningSchema>

export const helloSchema = z.strictObject({
  protocol: z.number().int().min(1),
  site: z.string().min(1).max(64),
  epoch: epochSchema,
  /** New at each start of the gateway. */
  instance: instanceSchema,
  forked_from: z.strictObject({ epoch: epochSchema, reason: z.string().max(200) }).nullable(),
  program: z.string().max(64),
  clock_ms: timeMsSchema,
  clock_trusted: z.boolean(),
  /** The last sequence number that was ever given in each stream. */
  ends: z.record(syncStreamSchema, seqSchema),
})
export type Hello = z.infer<typeof helloSchema>

/** 409 `ahead`: the hub has more of this epoch than the gateway ever had. 409 `foreign_epoch`: it is another site's. */
export const helloAnswerSchema = z.object({
  server_time_ms: timeMsSchema,
  cursors: cursorsSchema,
  limits: syncLimitsSchema,
  warnings: z.array(syncWarningSchema),
  /** It understands `through_ms` in audits. An older hub does not say, and refuses it. */
  audits_through: z.boolean().optional(),
})
export type HelloAnswer = z.infer<typeof helloAnswerSchema>

/**
 * How the data of a part is written: rows as a JSON array in UTF-8; many short runs of records
 * (shared/telemetry/runs.ts); whole telemetry blocks (shared/telemetry/blocks.ts).
 */
export const partEncodingSchema = z.enum(['rows-1', 'runs-1', 'blocks-1'])
export type PartEncoding = z.infer<typeof partEncodingSchema>

/** More rows than any part can hold. */
const MAX_PART_ROWS = 1_000_000

/**
 * A piece of a stream: everything behind `from` up to `to`. Gaps are legal: `count` rows may be fewer than positions.
 */
export const partSchema = z.strictObject({
  stream: syncStreamSchema,
  from: seqSchema,
  to: seqSchema,
  /** Rows: of telemetry and history, GPS records and battery records. */
  count: z.number().int().min(0).max(MAX_PART_ROWS),
  prev_hash: hashSchema,
  /** `partHash` of this part. */
  hash: hashSchema,
  encoding: z.string().min(1).max(32),
  /** Base64. */
  data: z.string(),
  /** What an audit found missing: it moves no cursor, `from`, `to` are 0, and rows that are there stay as they are. */
  is_resend: z.boolean().optional(),
})
export type SyncPart = z.infer<typeof partSchema>

export const pushSchema = z.strictObject({
  epoch: epochSchema,
  instance: instanceSchema,
  parts: listOf(partSchema, { least: 1 }),
})
export type Push = z.infer<typeof pushSchema>

/** Acknowledged means committed. */
export const pushAnswerSchema = z.object({
  acked: z.partialRecord(syncStreamSchema, cursorSchema),
  limits: syncLimitsSchema,
  /** There are intents behind the last one the gateway asked for. */
  intents_waiting: z.boolean(),
  warnings: z.array(syncWarningSchema),
})
export type PushAnswer = z.infer<typeof pushAnswerSchema>

/** The problem body of 409 `cursor`: where the streams of the request really are. Nothing of the request was taken. */
export const cursorProblemSchema = z.object({ code: z.literal('cursor'), cursors: cursorsSchema })

/** States of devices, each as `GET /devices/:id` of the gateway says it. Lossy: only the newest matters. */
export const latestSchema = z.strictObject({
  epoch: epochSchema,
  instance: instanceSchema,
  at_ms: timeMsSchema,
  /** All registered devices are in `devices`: others are gone. */
  is_complete: z.boolean(),
  devices: listOf(z.record(z.string(), z.unknown())),
  /** What of the backlog the gateway still has to send, for `GET /sites`. A hub ignores fields it does not know. */
  backlog: z.object({
    rows: z.number().int().min(0),
    oldest_ms: timeMsSchema.nullable(),
    /**
     * Acknowledged rows that the hub may have lost since, until a comparison confirms them; null while they are not
     * counted, 0 when all are confirmed. An older gateway does not say.
     */
    unconfirmed_rows: z.number().int().min(0).nullable().optional(),
    /**
     * How far the hub has acknowledged each stream; one that is not that far has lost data, and answers 409 `cursor`.
     */
    acked: z.partialRecord(syncStreamSchema, seqSchema).optional(),
  }),
})
export type Latest = z.infer<typeof latestSchema>

export const latestAnswerSchema = z.object({ limits: syncLimitsSchema, intents_waiting: z.boolean() })

/** What can be compared: rows of a day by device (`notes`: one group named ''), entities by table without a day. */
export const auditKindSchema = z.enum(['gps', 'battery', 'lock_events', 'geofence_events', 'notes', 'entities'])
export type AuditKind = z.infer<typeof auditKindSchema>
export const AUDIT_KINDS: readonly AuditKind[] = auditKindSchema.options

export const auditGroupSchema = z.strictObject({
  /** hardware_id, or the table of entities. */
  group: z.string().max(64),
  count: z.number().int().min(0).max(1_000_000_000),
  /** Order-free: the sum of the hashes of the rows. */
  sum: sumSchema,
  /**
   * Compare rows up to this time only: those that the device sends after it was counted do not matter. For a hub that
   * says `audits_through`.
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

/**
 * `resend` are groups the hub lacks rows of; `extra` are groups in which it has rows that the gateway does not have.
 */
export const auditAnswerSchema = z.object({
  resend: z.array(z.string()),
  extra: z.array(z.object({ group: z.string(), count: z.number().int() })),
})
export type AuditAnswer = z.infer<typeof auditAnswerSchema>

// What the rows of `rows-1` parts are. A hub keeps fields it does not know.

/** Of the registration of the device it is of; older gateways leave it out. */
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

/** Records were dropped before they were acknowledged; at most `count` rows of these times are missing at the hub. */
export const gapSchema = z.object({
  stream: telemetryKindSchema,
  from_ms: timeMsSchema,
  to_ms: timeMsSchema,
  count: z.number().int().min(0).max(1_000_000_000_000),
  hardware_ids: z.array(z.string()),
  reason: z.enum(['purge', 'disk', 'damage']),
})
export type Gap = z.infer<typeof gapSchema>

/** All records of these kinds of a device are to go, also those of parts of this epoch up to these positions. */
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
  /** For people; null when it was applied. */
  reason: z.string().nullable(),
})
export type IntentResult = z.infer<typeof intentResultSchema>

/** What the gateway tells about itself and its data. */
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

/** Bodies that a hub shows to people; of others it reads nothing. Fields it does not know are kept. */
export const deviceGroupBodySchema = z.looseObject({
  group_id: groupIdSchema,
  name: z.string(),
  created_at_ms: timeMsSchema,
  updated_at_ms: timeMsSchema,
})
export type DeviceGroupBody = z.infer<typeof deviceGroupBodySchema>
/**
 * An entry of the audit log. Only an erasure changes it, and a hub keeps it when the gateway deletes it for its age.
 */
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

/** An alert. Gateways may come to know more kinds than a hub. */
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

/** The schema of an entity's body; undefined for a table whose rows a hub only keeps. */
export function entityBodySchema(table: string): z.ZodType | undefined {
  return Object.hasOwn(ENTITY_BODIES, table) ? ENTITY_BODIES[table] : undefined
}

export const INTENT_KINDS = ['config.set', 'geofence.put', 'command.send', 'user.disable', 'resend'] as const
/** Kinds a gateway of this version knows. */
export const intentKindSchema = z.enum(INTENT_KINDS)
export type IntentKind = z.infer<typeof intentKindSchema>

/**
 * An intent of the head office. `base_rev`: the revision it was made on; if the site has changed it since, the site
 * wins.
 */
export const intentSchema = z.object({
  intent_id: z.string().min(1).max(64),
  seq: z.number().int().min(0).max(MAX_INTENT_SEQ),
  /** One of `INTENT_KINDS`; a gateway rejects one it does not know and goes on with the next. */
  kind: z.string().min(1).max(32),
  body: z.record(z.string(), z.unknown()),
  issued_at_ms: timeMsSchema,
  expires_at_ms: timeMsSchema,
  base_rev: z.string().max(64).nullable(),
})
export type Intent = z.infer<typeof intentSchema>

export const intentsAnswerSchema = z.object({ intents: z.array(intentSchema) })
