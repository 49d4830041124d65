import { z } from 'zod'
import type { SyncIdentity } from '#shared/sync-source.ts'
import { SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import { cursorSchema, type SyncStream, syncStreamSchema } from '#shared/wire/replication/sync.ts'

const attemptSchema = z.object({
  /** Where it began. */
  from: cursorSchema,
  /** Where the stream is if the part was taken. */
  to: cursorSchema,
  rows: z.number().int().min(0),
})

/** A part that was sent, without an answer whether the hub took it. */
export type Attempt = z.infer<typeof attemptSchema>

/**
 * What is kept beside the database, so that a database that was put back to an earlier time can be told from one that
 * is as it was left, and a part whose answer was lost in a crash from another gateway's.
 */
export const sideFileSchema = z.object({
  site: z.string(),
  epoch: z.string(),
  acked: z.partialRecord(syncStreamSchema, z.number().int().min(0)),
  attempts: z.partialRecord(syncStreamSchema, z.array(attemptSchema)),
})
export type SideFileContent = z.infer<typeof sideFileSchema>

/** Whether the head office had more of this site's data than the database ever gave: it is an older copy. */
export function isOlderThan(
  content: SideFileContent,
  site: string,
  { epoch, forkedFrom }: SyncIdentity,
  ends: Record<SyncStream, number>,
): boolean {
  // a file of another site proves nothing; a restore that was noticed before is part of the identity
  if (content.site !== site || (content.epoch !== epoch && forkedFrom?.epoch === content.epoch)) return false
  return SYNC_STREAMS.some((stream) => (content.acked[stream] ?? 0) > ends[stream])
}
