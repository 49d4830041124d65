import { z } from 'zod'
import { cursorSchema, helloSchema, syncStreamSchema, timeMsSchema } from './sync.ts'

// Data that a hub returns to a gateway that lost its database: everything of the site, in consecutive pages. The
// gateway then reports the epoch with which it continues; the hub treats the returned data as received in it.

/** Returned kinds in this order: referenced data comes first. */
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

/** Readable reason why an epoch made from these pages follows the previous one; by it a hub recognises such epochs. */
export const REBUILT_REASON = 'made anew from what the head office had'

const count = z.number().int().min(0)

/** Data that the hub has of the site, and known gaps. */
export const rebuildOfferSchema = z.object({
  site: z.string(),
  /** Last epoch in which the site sent data; null if it never did. */
  epoch: z.string().nullable(),
  last_seen_ms: timeMsSchema.nullable(),
  /** Rows that only the gateway had, by its last report; null without one. */
  backlog_rows: count.nullable(),
})
export type RebuildOffer = z.infer<typeof rebuildOfferSchema>

/** `content` is JSON of rows, or base64 of blocks (shared/telemetry/blocks.ts); '' for an empty page. */
export const rebuildPageSchema = z.object({
  count,
  /** Value of `after` for the next page; null on the last page of its kind. */
  next: z.string().max(1000).nullable(),
  content: z.string(),
  /** SHA-256 of the content, in hexadecimal digits. */
  sum: z.string().regex(/^[0-9a-f]{64}$/),
})
export type RebuildPage = z.infer<typeof rebuildPageSchema>

export const rebuildPageQuerySchema = z.object({
  after: z.string().max(1000).optional(),
  /** Omits positions and voltages before this time. */
  since: z
    .string()
    .regex(/^\d{1,15}$/)
    .default('0')
    .transform(Number),
})

/** Database created from the pages: its streams end there, and the hub has all of them. */
export const rebuiltSchema = helloSchema.pick({ epoch: true, forked_from: true, ends: true })
export type Rebuilt = z.infer<typeof rebuiltSchema>

export const rebuiltAnswerSchema = z.object({ cursors: z.record(syncStreamSchema, cursorSchema) })
export type RebuiltAnswer = z.infer<typeof rebuiltAnswerSchema>

/** Row of `entities` and `audit_entries`; rows of the other kinds are as in `sync.ts`, without `seq`. */
export const rebuildEntitySchema = z.object({
  table: z.string(),
  key: z.string(),
  body: z.record(z.string(), z.unknown()),
})
export type RebuildEntity = z.infer<typeof rebuildEntitySchema>
