import { z } from 'zod'

const pathSchema = z.array(z.union([z.string(), z.number().int()])).max(100)

const blankedEventSchema = z.object({
  event_id: z.string().min(1).max(128),
  /** Its code is null since. */
  code: z.boolean(),
  /** Where in its metadata strings are empty since. */
  metadata: z.array(pathSchema),
})
export type BlankedEvent = z.infer<typeof blankedEventSchema>

/** What an erasure took out of lock events: where it was, not what it was. */
export const blankSchema = z.object({ lock_events: z.array(blankedEventSchema) })
