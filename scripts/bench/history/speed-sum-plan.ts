import { z } from 'zod'

/** Where the rows go, and of how many days they are; a JSON line on stdin, answered by the first result. */
export const speedSumPlanSchema = z.object({ path: z.string(), days: z.number() })

/** Where the rows go, and of how many days they are. */
export type SpeedSumPlan = z.infer<typeof speedSumPlanSchema>

/** The sum of all speeds, and how long it took; a JSON line on stdout. */
export const speedSumResultSchema = z.object({ sum: z.number(), durationS: z.number() })

/** The sum of all speeds, and how long it took. */
export type SpeedSumResult = z.infer<typeof speedSumResultSchema>
