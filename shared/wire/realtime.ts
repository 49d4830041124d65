import { z } from 'zod'
import type { AlertEvent, AlertJson } from './alerts.ts'
import type { CartJson } from './carts.ts'
import { type CommandStatus, newCommandSchema } from './commands.ts'
import type { DeviceJson } from './devices.ts'
import type { MessageJson } from './messages/messages.ts'
import type { PartyJson } from './parties/parties.ts'
import type { RecallJson } from './recall.ts'
import type { SiteForScreensJson, SiteSettingsJson } from './site.ts'

const idSchema = z.union([z.string().max(128), z.number()]).optional()
const hardwareIdsSchema = z
  .array(z.string({ error: 'must be a string' }).max(64), { error: 'must be an array' })
  .max(10_000)

/** Envelope of a command, which identifies the device; the rest is validated like an HTTP request. */
const commandEnvelopeSchema = z.looseObject({
  type: z.literal('command'),
  hardwareId: z.string({ error: 'must be a string' }).max(64),
  id: idSchema,
})

/** Fields of a command on `/realtime` in addition to its envelope. */
export const commandFieldsSchema = newCommandSchema.extend({
  /** Camel case like the other names on the socket; the name of the HTTP API is accepted as well. */
  ttlSeconds: newCommandSchema.shape.ttl_seconds,
  type: z.unknown(),
  hardwareId: z.unknown(),
  id: z.unknown().optional(),
})

/** Messages that a client may send on `/realtime`. */
export const clientMessageSchema = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('subscribe'),
    hardwareIds: hardwareIdsSchema,
    /** True to receive the current state first. */
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

/** Messages that the gateway sends on `/realtime`; times are ISO 8601. */
export type ServerMessage =
  | { type: 'connected'; connectionId: string; time: string; started_at: string; version: string }
  | { type: 'subscribed'; hardwareIds: string[]; denied: string[]; id?: RequestId }
  | { type: 'unsubscribed'; hardwareIds: string[]; reason?: 'scope'; id?: RequestId }
  | { type: 'pong'; time: string; id?: RequestId }
  | {
      type: 'snapshot'
      /** Devices of this subscription, in the form of GET /devices. */
      devices: DeviceJson[]
      /** Carts of these devices. */
      carts: CartJson[]
      /** All alerts that are not closed, of all carts in scope. */
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
      /** user_id, or the automatic action; only with lock and unlock. */
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
      /** Complete for users who may read it, else the part that every screen needs. */
      site: SiteSettingsJson | SiteForScreensJson
    }
  | {
      type: 'device_changed'
      hardwareId: string
      /** Device in the form of `GET /devices`. */
      device: DeviceJson
    }
  | { type: 'device_removed'; hardwareId: string }
  | { type: 'zones_changed'; version: number }
  | { type: 'course_changed'; version: number }
  | { type: 'party'; event: 'changed' | 'removed'; party: PartyJson; timestamp: string }
  | { type: 'recall'; event: 'started' | 'confirmed' | 'ended'; recall: RecallJson; timestamp: string }
  | {
      type: 'recall'
      event: 'confirmed'
      /** Screen that did it; omitted for users who may not see it. */
      hardwareId: string
      recall: RecallJson
      timestamp: string
    }
  | { type: 'message'; event: 'sent' | 'confirmed'; message: MessageJson; timestamp: string }
  | { type: 'device_backfill'; hardwareId: string; from: string; to: string; count: number }
