import { z } from 'zod'
import type { AlertEvent, AlertJson } from './alerts.ts'
import type { CartJson } from './carts.ts'
import { type CommandStatus, newCommandSchema } from './commands.ts'
import type { DeviceJson } from './devices.ts'
import type { RecallJson } from './recall.ts'
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
  z.looseObject({
    type: z.literal('subscribe'),
    hardwareIds: hardwareIdsSchema,
    /** Whether to be told first how all of it is. */
    snapshot: z.boolean({ error: 'must be true or false' }).optional(),
    id: idSchema,
  }),
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
  | { type: 'connected'; connectionId: string; time: string; started_at: string; version: string }
  | { type: 'subscribed'; hardwareIds: string[]; denied: string[]; id?: RequestId }
  | { type: 'unsubscribed'; hardwareIds: string[]; reason?: 'scope'; id?: RequestId }
  | { type: 'pong'; time: string; id?: RequestId }
  | {
      type: 'snapshot'
      /** Of this subscribe, as GET /devices shows them. */
      devices: DeviceJson[]
      /** Those of these devices. */
      carts: CartJson[]
      /** All that are not closed, of all carts in scope. */
      alerts: AlertJson[]
      time: string
      id?: RequestId
    }
  | { type: 'cart'; cart: CartJson; timestamp: string }
  | { type: 'cart_removed'; cart: string }
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
      /** user_id, or what acts by itself; with lock and unlock. */
      requestedBy?: string
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
      /** Null for a zone of the site. */
      groupId: number | null
      zoneId: string
      zoneName: string
      zoneType: string
      lat: number
      long: number
      timestamp: string
    }
  | { type: 'alert'; event: AlertEvent; alert: AlertJson; timestamp: string }
  | {
      type: 'site_changed'
      /** All of it for those who may read it, else what every screen goes by. */
      site: SiteSettingsJson | SiteForScreensJson
    }
  | {
      type: 'device_changed'
      hardwareId: string
      /** As `GET /devices` shows it. */
      device: DeviceJson
    }
  | { type: 'device_removed'; hardwareId: string }
  | { type: 'zones_changed'; version: number }
  | { type: 'course_changed'; version: number }
  | { type: 'recall'; event: 'started' | 'confirmed' | 'ended'; recall: RecallJson; timestamp: string }
  | {
      type: 'recall'
      event: 'confirmed'
      /** The screen that did; left out for who does not see it. */
      hardwareId: string
      recall: RecallJson
      timestamp: string
    }
  | { type: 'device_backfill'; hardwareId: string; from: string; to: string; count: number }
