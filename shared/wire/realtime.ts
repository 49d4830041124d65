import { z } from 'zod'
import { type CommandStatus, newCommandSchema } from './commands.ts'
import type { SiteForScreensJson, SiteSettingsJson } from './site.ts'

const idSchema = z.union([z.string().max(128), z.number()]).optional()
const hardwareIdsSchema = z
  .array(z.string({ error: 'must be a string' }).max(64), { error: 'must be an array' })
  .max(10_000)

/** A command, as far as it says for which device; the rest of it is checked as a request by HTTP is. */
const commandEnvelopeSchema = z.looseObject({
  type: z.literal('command'),
  hardwareId: z.string({ error: 'must be a string' }).max(64),
  id: idSchema,
})

/** What a command on `/realtime` says beside its envelope. */
export const commandFieldsSchema = newCommandSchema.extend({
  /** Like the other names on the socket; that of HTTP is taken as well. */
  ttlSeconds: newCommandSchema.shape.ttl_seconds,
  type: z.unknown(),
  hardwareId: z.unknown(),
  id: z.unknown().optional(),
})

/** What a client may send on `/realtime`. */
export const clientMessageSchema = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('subscribe'), hardwareIds: hardwareIdsSchema, id: idSchema }),
  z.looseObject({ type: z.literal('unsubscribe'), hardwareIds: hardwareIdsSchema, id: idSchema }),
  commandEnvelopeSchema,
  z.looseObject({
    type: z.literal('authenticate'),
    apiKey: z.string({ error: 'must be a string' }).max(256),
    id: idSchema,
  }),
  z.looseObject({ type: z.literal('ping'), id: idSchema }),
])

export type ClientMessage = z.infer<typeof clientMessageSchema>
export type ClientCommand = z.infer<typeof commandEnvelopeSchema>

type RequestId = string | number | undefined

/** What the gateway sends on `/realtime`; times are ISO 8601. */
export type ServerMessage =
  | { type: 'connected'; connectionId: string }
  | { type: 'subscribed'; hardwareIds: string[]; denied: string[]; id?: RequestId }
  | { type: 'unsubscribed'; hardwareIds: string[]; reason?: 'scope'; id?: RequestId }
  | { type: 'pong'; id?: RequestId }
  | {
      type: 'command_sent'
      commandId: string
      hardwareId: string
      command: string
      status: CommandStatus
      id?: RequestId
    }
  | {
      type: 'command_status'
      commandId: string
      hardwareId: string
      command: string
      status: CommandStatus
      error?: string
      timestamp: string
    }
  | { type: 'error'; code: string; message: string; id?: RequestId }
  | {
      type: 'device_data'
      hardwareId: string
      payload: Record<string, string | number | boolean>
      timestamp: string
      updated_at: string
      last_responded_at: string
    }
  | { type: 'device_status'; hardwareId: string; payload: { is_online: boolean }; timestamp: string }
  | {
      type: 'device_locked' | 'device_unlocked'
      hardwareId: string
      eventId: string
      source: string
      code?: string
      metadata?: Record<string, unknown>
      timestamp: string
    }
  | {
      type: 'geofence_enter' | 'geofence_exit'
      hardwareId: string
      eventId: string
      groupId: number
      zoneId: string
      zoneName: string
      zoneType: string
      lat: number
      long: number
      timestamp: string
    }
  | {
      type: 'site_changed'
      /** All of it for those who may read it, else what every screen goes by. */
      site: SiteSettingsJson | SiteForScreensJson
    }
  | { type: 'device_backfill'; hardwareId: string; from: string; to: string; count: number }
