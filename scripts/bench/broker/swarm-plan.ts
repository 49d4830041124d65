import { z } from 'zod'
import { latencySummarySchema } from '#scripts/rig/latency-histogram.ts'

/** What a swarm is told, as one JSON line on its stdin. */
export const swarmPlanSchema = z.object({
  port: z.number(),
  /** Last levels of the topics each device subscribes to. */
  leaves: z.array(z.string()),
  isClean: z.boolean(),
  hasWill: z.boolean(),
  clients: z.array(z.object({ hardwareId: z.string(), password: z.string() })),
})

/** What a swarm is told: devices that connect, subscribe and then are silent. */
export type SwarmPlan = z.infer<typeof swarmPlanSchema>

/** One reconnect storm, from the cut to the last client's last answer. */
export const stormResultSchema = z.object({
  durationMs: z.number(),
  /** Of each client, from the cut to its last answer. */
  through: latencySummarySchema,
  withoutSession: z.number(),
  refusedSubscriptions: z.number(),
  /** Connections that ended before they were through and had to be tried again. */
  retries: z.number(),
  /** CPU of the swarm itself. */
  cpuS: z.number(),
})

/** What came of one reconnect storm. */
export type StormResult = z.infer<typeof stormResultSchema>

/** Commands, one a line, after the plan. `reconnect` leaves the subscriptions to the session. */
export const stormKinds = ['reconnect', 'resubscribe'] as const

/** What the clients of a storm do once they are back. */
export type StormKind = (typeof stormKinds)[number]

/** What a swarm says, one JSON line each. */
export const swarmEventSchema = z.discriminatedUnion('event', [
  z.object({ event: z.literal('connected'), refusedSubscriptions: z.number() }),
  z.object({ event: z.literal('storm'), result: stormResultSchema }),
])

/** What a swarm says. */
export type SwarmEvent = z.infer<typeof swarmEventSchema>
