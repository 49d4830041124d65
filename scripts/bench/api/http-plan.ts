import { z } from 'zod'
import { latencySummarySchema } from '#scripts/rig/latency-histogram.ts'

/** One run of HTTP requests, as a JSON line on the client's stdin. */
export const httpRunSchema = z.object({
  port: z.number(),
  path: z.string(),
  key: z.string(),
  connections: z.number(),
  warmupS: z.number(),
  durationS: z.number(),
})

/** One run of HTTP requests: so many connections, on each the next request once the last is answered. */
export type HttpRun = z.infer<typeof httpRunSchema>

/** What came of a run, over the measured time unless told; a JSON line on the client's stdout. */
export const httpResultSchema = z.object({
  /** Of the whole run, warm-up included: what the server's CPU time went into. */
  answered: z.number(),
  requests: z.number(),
  /** Answers that were not 200. */
  failures: z.number(),
  bytes: z.number(),
  durationS: z.number(),
  /** CPU seconds of the client itself. */
  cpuS: z.number(),
  latency: latencySummarySchema,
})

/** What came of a run. */
export type HttpResult = z.infer<typeof httpResultSchema>
