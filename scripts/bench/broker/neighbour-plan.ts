import { z } from 'zod'

/** Clients that a fleet may have to live beside. */
export const neighbourKinds = [
  'stalled-reader',
  'wide-subscriber',
  'publisher-qos0',
  'publisher-qos1',
  'flooding-device',
  'half-open',
  'wrong-passwords',
  'regulars',
] as const

/** A kind of client that a fleet may have to live beside. */
export type NeighbourKind = (typeof neighbourKinds)[number]

/** What a neighbour is told, as one JSON line on its stdin; it ends when stdin does. */
export const neighbourPlanSchema = z.object({
  kind: z.enum(neighbourKinds),
  port: z.number(),
  /** An admin's, by API key. */
  login: z.object({ username: z.string(), password: z.string() }),
  /** A device of its own. */
  device: z.object({ hardwareId: z.string(), password: z.string() }),
  /** It ends by itself after this, whatever happens. */
  lifeS: z.number(),
})

/** What a neighbour is told. */
export type NeighbourPlan = z.infer<typeof neighbourPlanSchema>

/** What a neighbour says, one JSON line each: what it did, by name. */
export const neighbourEventSchema = z.object({
  event: z.enum(['started', 'result']),
  counts: z.record(z.string(), z.number()),
  cpuS: z.number(),
})

/** What a neighbour says. */
export type NeighbourEvent = z.infer<typeof neighbourEventSchema>

/** Counts what a neighbour does. */
export type Count = (name: string) => void
