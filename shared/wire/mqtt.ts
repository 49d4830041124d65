import { z } from 'zod'
import { ackStatusSchema } from './commands.ts'
import { lockKindSchema, lockSourceSchema } from './lock-events.ts'

/** Message types that a device publishes, by the last level of its topic `dev/{hardware_id}/…`. */
export const UPLINKS = ['tlm', 'evt', 'st', 'ack', 'tq', 'call'] as const
export type Uplink = (typeof UPLINKS)[number]

/** Message types that a device receives, by the last level of its topic. */
export const DOWNLINKS = ['cmd', 'cfg', 'ta', 'key'] as const
export type Downlink = (typeof DOWNLINKS)[number]

export function deviceTopic(hardwareId: string, level: Uplink | Downlink): string {
  return `dev/${hardwareId}/${level}`
}

export function zonesTopic(groupId: number): string {
  return `sit/${groupId}/sz`
}

export const statusMessageSchema = z.looseObject({
  online: z.boolean(),
  type: z.string().max(64).optional(),
  fw: z.string().max(64).optional(),
  boot: z.number().optional(),
  r: z.string().max(64).optional(),
  // sent by a device that enrols; an invalid value must not prevent the enrolment
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

const CALL_TEXT_MAX = 200

/** Call of a golfer from the screen of a cart, or its withdrawal by the id under which the device made it. */
export const callMessageSchema = z
  .looseObject({
    call: z.enum(['help', 'ranger', 'breakdown', 'order', 'cancel']),
    text: z
      .string()
      .transform(
        (text) =>
          text
            .replaceAll(/\p{Cc}+/gu, ' ')
            .trim()
            .slice(0, CALL_TEXT_MAX)
            .toWellFormed() || null,
      )
      .nullish(),
    cid: z.string().min(1).max(64).nullish(),
    ts: z.unknown().optional(),
  })
  .refine(({ call, cid }) => call !== 'cancel' || cid != null)
export type CallMessage = z.infer<typeof callMessageSchema>

export const ackMessageSchema = z.looseObject({
  id: z.string().max(64).optional(),
  st: ackStatusSchema.optional(),
  // truncated if too long: the result of the command matters more than its text
  err: z.union([z.string(), z.number()]).nullish(),
  cfg: z.number().int().optional(),
  sz: z.number().int().optional(),
  // 1: the device has stored the password that it received on `key`
  key: z.number().int().optional(),
})

/** Message on `cmd`. */
export interface CommandMessage {
  id: string
  cmd: string
  params: Record<string, unknown>
  /** Send time, milliseconds since 1970. */
  ts: number
  /** Validity in seconds, counted from `ts`. */
  ttl: number
}

/** Retained message of `dev/{hardware_id}/cfg`: the desired configuration of the device, and its group. */
export const configMessageSchema = z.object({
  v: z.number().int(),
  ts: z.number().int(),
  group_id: z.number().int().nullable(),
  config: z.record(z.string(), z.unknown()),
})

/** Message of `dev/{hardware_id}/key`: the individual password of the device. */
export const keyMessageSchema = z.object({ password: z.string().min(1) })

export const timeQuestionSchema = z.looseObject({ up: z.number() })
