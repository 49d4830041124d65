import { z } from 'zod'
import { cursorSchema, helloSchema, syncStreamSchema, timeMsSchema } from './sync.ts'

// What a hub gives back to a gateway that lost its database: everything of the site, in pages that go on where the last
// one ended. The gateway then says as which epoch it goes on, and the hub takes what it gave for what it has of that.

/** What is given back, in this order: what others refer to comes first. */
export const REBUILD_KINDS = [
  'entities',
  'audit_entries',
  'notes',
  'lock_events',
  'geofence_events',
  'gps',
  'battery',
] as const
export const rebuildKindSchema = z.enum(REBUILD_KINDS)
export type RebuildKind = z.infer<typeof rebuildKindSchema>

/** Why an epoch that was made of these pages follows the one before, for people; a hub knows such an epoch by it. */
export const REBUILT_REASON = 'made anew from what the head office had'

const count = z.number().int().min(0)

/** What the hub has of the site, and knows that it lacks. */
export const rebuildOfferSchema = z.object({
  site: z.string(),
  /** The last epoch that the site sent as; null when it never sent anything. */
  epoch: z.string().nullable(),
  last_seen_ms: timeMsSchema.nullable(),
  /** Rows that the gateway had and the hub did not, by the gateway's last report; null without one. */
  backlog_rows: count.nullable(),
})
export type RebuildOffer = z.infer<typeof rebuildOfferSchema>

/** `content` is JSON of rows, or base64 of blocks (shared/telemetry/blocks.ts); '' when there is nothing. */
export const rebuildPageSchema = z.object({
  count,
  /** What to give as `after` for the next page; null when this is the last of its kind. */
  next: z.string().max(1000).nullable(),
  content: z.string(),
  /** SHA-256 of the content, as hexadecimal digits. */
  sum: z.string().regex(/^[0-9a-f]{64}$/),
})
export type RebuildPage = z.infer<typeof rebuildPageSchema>

export const rebuildPageQuerySchema = z.object({
  after: z.string().max(1000).optional(),
  /** No positions and voltages of before. */
  since: z
    .string()
    .regex(/^\d{1,15}$/)
    .default('0')
    .transform(Number),
})

/** The database that was made of the pages: its streams end there, and the hub has all of them. */
export const rebuiltSchema = helloSchema.pick({ epoch: true, forked_from: true, ends: true })
export type Rebuilt = z.infer<typeof rebuiltSchema>

export const rebuiltAnswerSchema = z.object({ cursors: z.record(syncStreamSchema, cursorSchema) })
export type RebuiltAnswer = z.infer<typeof rebuiltAnswerSchema>

/** A row of `entities` and `audit_entries`; those of the other kinds are as in `sync.ts`, without `seq`. */
export const rebuildEntitySchema = z.object({
  table: z.string(),
  key: z.string(),
  body: z.record(z.string(), z.unknown()),
})
export type RebuildEntity = z.infer<typeof rebuildEntitySchema>
