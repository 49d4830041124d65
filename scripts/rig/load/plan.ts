import { z } from 'zod'
import { latencySummarySchema } from '../latency-histogram.ts'

/** What the load generator is told, as one JSON line on its stdin. */
export const loadPlanSchema = z.object({
  host: z.string(),
  port: z.number(),
  /** At 0 `acknowledged` only means taken by the kernel: count what arrived at the broker. */
  qos: z.union([z.literal(0), z.literal(1)]),
  /** `device`: with a last will, three subscriptions and an `st` message, as real ones connect. */
  session: z.enum(['bare', 'device']),
  mode: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('paced'), perClientPerS: z.number() }),
    z.object({ kind: z.literal('saturate'), window: z.number() }),
  ]),
  warmupS: z.number(),
  /** null: until the line `stop` comes on stdin. */
  durationS: z.number().nullable(),
  /** No sample is older than this: the devices may have sent newer ones before. */
  notBeforeMs: z.number(),
  /** Where to write the times of the acknowledged samples of each device. */
  journalFile: z.string().nullable(),
  clients: z.array(z.object({ hardwareId: z.string(), password: z.string() })),
})

/** What the load generator is told. */
export type LoadPlan = z.infer<typeof loadPlanSchema>

/** What the load generator found. */
export const loadResultSchema = z.object({
  /** Over the whole run, warm-up and draining included. */
  sent: z.number(),
  acknowledged: z.number(),
  resent: z.number(),
  /** Not made because a device's buffer was full. */
  skipped: z.number(),
  reconnects: z.number(),
  refusedSubscriptions: z.number(),
  newestSampleMs: z.number(),
  /** Over the measured time only. */
  measured: z.object({
    durationS: z.number(),
    acknowledged: z.number(),
    /** CPU seconds of the generator itself. */
    cpuS: z.number(),
    /** From when the message was due, so a stall counts for all that waited behind it. */
    sinceDue: latencySummarySchema,
    /** From the write to the socket. */
    sinceWrite: latencySummarySchema,
  }),
})

/** What the load generator found. */
export type LoadResult = z.infer<typeof loadResultSchema>

/**
 * What the load generator says, one JSON line each; `connected` comes again after every outage, `journal` whenever the
 * line `journal` on stdin made it write the journal as it is.
 */
export const loadEventSchema = z.discriminatedUnion('event', [
  z.object({ event: z.literal('connected') }),
  z.object({ event: z.literal('measuring') }),
  z.object({ event: z.literal('measured') }),
  z.object({ event: z.literal('journal') }),
  z.object({ event: z.literal('result'), result: loadResultSchema }),
])

/** What the load generator says. */
export type LoadEvent = z.infer<typeof loadEventSchema>

/** Acknowledged samples by device: times in milliseconds. */
export const journalSchema = z.record(z.string(), z.array(z.number()))

/** Acknowledged samples by device. */
export type Journal = z.infer<typeof journalSchema>
