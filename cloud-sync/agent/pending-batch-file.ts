import { z } from 'zod'
import type { SyncIdentity } from '#shared/sync-source.ts'
import { SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import { cursorSchema, type SyncStream, syncStreamSchema } from '#shared/wire/replication/sync.ts'

const attemptSchema = z.object({
  from: cursorSchema,
  /** Cursor of the stream if the hub applied the part. */
  to: cursorSchema,
  rows: z.number().int().min(0),
})

/** Part that was sent without a response that shows if the hub applied it. */
export type Attempt = z.infer<typeof attemptSchema>

/**
 * Record stored next to the database. It distinguishes a database that was put back to an earlier time from an
 * unchanged one, and a part whose response was lost in a crash from a part of another gateway.
 */
export const sideFileSchema = z.object({
  site: z.string(),
  epoch: z.string(),
  acked: z.partialRecord(syncStreamSchema, z.number().int().min(0)),
  attempts: z.partialRecord(syncStreamSchema, z.array(attemptSchema)),
})
export type SideFileContent = z.infer<typeof sideFileSchema>

/** True if the hub had more of this site's data than the database ever sent, so that the database is an older copy. */
export function isOlderThan(
  content: SideFileContent,
  site: string,
  { epoch, forkedFrom }: SyncIdentity,
  ends: Record<SyncStream, number>,
): boolean {
  // a file of another site proves nothing; a restore that was detected before is part of the identity
  if (content.site !== site || (content.epoch !== epoch && forkedFrom?.epoch === content.epoch)) return false
  return SYNC_STREAMS.some((stream) => (content.acked[stream] ?? 0) > ends[stream])
}
