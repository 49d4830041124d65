import { z } from 'zod'

const pathSchema = z.array(z.union([z.string(), z.number().int()])).max(100)

const blankedEventSchema = z.object({
  event_id: z.string().min(1).max(128),
  /** True if its code was set to null. */
  code: z.boolean(),
  /** Paths of strings in its metadata that were emptied. */
  metadata: z.array(pathSchema),
})
export type BlankedEvent = z.infer<typeof blankedEventSchema>

/** Positions of the content that an erasure removed from lock events, without the content itself. */
export const blankSchema = z.object({ lock_events: z.array(blankedEventSchema) })
