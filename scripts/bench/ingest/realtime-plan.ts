import { z } from 'zod'
import { latencySummarySchema } from '#scripts/rig/latency-histogram.ts'

/** What the readers are told. */
export const realtimePlanSchema = z.object({ url: z.string(), sockets: z.number() })

/** What all readers together got. */
export const realtimeResultSchema = z.object({
  /** `device_data` messages over all sockets. */
  received: z.number(),
  /** Sockets the gateway closed. */
  closed: z.number(),
  /** From the sample's time to its arrival, in whole milliseconds. */
  delivery: latencySummarySchema,
})

/** What all readers together got. */
export type RealtimeResult = z.infer<typeof realtimeResultSchema>

/** What the readers say, one JSON line each. */
export const realtimeEventSchema = z.discriminatedUnion('event', [
  z.object({ event: z.literal('ready') }),
  z.object({ event: z.literal('result'), result: realtimeResultSchema }),
])

/** What the readers say. */
export type RealtimeEvent = z.infer<typeof realtimeEventSchema>
