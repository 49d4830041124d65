import { z } from 'zod'
import { ackStatusSchema } from './commands.ts'
import { lockKindSchema, lockSourceSchema } from './lock-events.ts'

/** What a device publishes, by the last level of its topic `dev/{hardware_id}/…`. */
export const UPLINKS = ['tlm', 'evt', 'st', 'ack', 'tq'] as const
export type Uplink = (typeof UPLINKS)[number]

/** What a device reads, by the last level of its topic. */
export const DOWNLINKS = ['cmd', 'cfg', 'ta', 'key'] as const
export type Downlink = (typeof DOWNLINKS)[number]

export function deviceTopic(hardwareId: string, level: Uplink | Downlink): string {
  return `dev/${hardwareId}/${level}`
}

/** Where the devices of a group find their zones. */
export function zonesTopic(groupId: number): string {
  return `sit/${groupId}/sz`
}

export const statusMessageSchema = z.looseObject({
  online: z.boolean(),
  type: z.string().max(64).optional(),
  fw: z.string().max(64).optional(),
  boot: z.number().optional(),
  r: z.string().max(64).optional(),
  // of a device that enrols; a wrong one is no reason to leave it out
  cart: z.unknown().optional(),
})

export const lockEventMessageSchema = z.looseObject({
  eid: z.union([z.string().min(1).max(64), z.number()]).nullish(),
  event: lockKindSchema,
  source: lockSourceSchema,
  code: z.union([z.string().min(1).max(64), z.number()]).nullish(),
  ts: z.unknown().optional(),
  cmd: z.string().max(64).nullish(),
})
export type LockEventMessage = z.infer<typeof lockEventMessageSchema>

export const ackMessageSchema = z.looseObject({
  id: z.string().max(64).optional(),
  st: ackStatusSchema.optional(),
  // cut where it is too long: what became of the command is worth more than the words for it
  err: z.union([z.string(), z.number()]).nullish(),
  cfg: z.number().int().optional(),
  sz: z.number().int().optional(),
  // 1: it has the password it was sent on `key`
  key: z.number().int().optional(),
})

/** What is sent on `cmd`. */
export interface CommandMessage {
  id: string
  cmd: string
  params: Record<string, unknown>
  /** When it was sent, milliseconds since 1970. */
  ts: number
  /** Seconds it may still be obeyed for, counted from `ts`. */
  ttl: number
}

/** The retained message of `dev/{hardware_id}/cfg`: what the device is to be set to, and the group it is in. */
export const configMessageSchema = z.object({
  v: z.number().int(),
  ts: z.number().int(),
  group_id: z.number().int().nullable(),
  config: z.record(z.string(), z.unknown()),
})

/** The message of `dev/{hardware_id}/key`: the password of the device's own. */
export const keyMessageSchema = z.object({ password: z.string().min(1) })

export const timeQuestionSchema = z.looseObject({ up: z.number() })
