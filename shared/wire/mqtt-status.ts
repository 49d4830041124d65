import { z } from 'zod'
import { MQTT_TRANSPORTS } from '../mqtt-status.ts'
import { isoSchema, offsetParam, pageLimitParam, paginationSchema } from './params.ts'

const count = z.number().int()
const perSecond = z
  .number()
  .meta({ description: 'Messages a second, averaged over the last five to ten seconds.' })

const flowSchema = z
  .object({ messages: count, bytes: count, per_second: perSecond })
  .meta({ description: 'PUBLISH packets and the bytes of their payloads, on this connection.' })

export const mqttClientSchema = z.object({
  client_id: z.string(),
  kind: z.enum(['device', 'program']),
  user_id: z.string().nullable().meta({ description: 'Whose API key a program has logged in with.' }),
  hardware_id: z.string().nullable(),
  address: z.string().nullable().meta({ description: 'IP address; null while away.' }),
  transport: z.enum(MQTT_TRANSPORTS).nullable(),
  protocol_version: z.number().int().nullable().meta({ description: '3 is MQTT 3.1, 4 is 3.1.1.' }),
  connected: z.boolean(),
  connected_since: isoSchema.nullable(),
  clean_session: z.boolean(),
  keepalive_s: count.nullable(),
  subscriptions: z.array(z.object({ topic_filter: z.string(), qos: count })),
  received: flowSchema.nullable(),
  sent: flowSchema.nullable(),
  queue: z.object({ messages: count, bytes: count, in_flight: count, dropped: count }).meta({
    description: 'QoS 1 and 2 messages that are not acknowledged; dropped since the gateway started.',
  }),
  unread_bytes: count.meta({ description: 'Written, and not yet taken by the network.' }),
  skipped: count.meta({ description: 'QoS 0 messages left out because it reads too slowly.' }),
  throttled: count.meta({ description: 'Times it was made to wait because it sent too much.' }),
  idle_hours: count.nullable().meta({ description: 'Hours away; null while connected.' }),
})

export type MqttClientJson = z.infer<typeof mqttClientSchema>

export const mqttClientListSchema = z.object({
  clients: z.array(mqttClientSchema),
  pagination: paginationSchema,
})

export const mqttClientListQuerySchema = z.object({
  connected: z.enum(['true', 'false']).optional(),
  search: z.string().optional(),
  limit: pageLimitParam,
  offset: offsetParam,
})

export const removedMqttClientSchema = z.object({
  success: z.literal(true),
  closed: z.boolean().meta({ description: 'It was connected.' }),
  session_discarded: z.boolean().meta({ description: 'Its subscriptions and what waited for it are gone.' }),
})

const trafficSchema = z.object({
  messages: count.meta({ description: 'PUBLISH packets.' }),
  by_qos: z.object({ qos_0: count, qos_1: count, qos_2: count }),
  per_second: perSecond,
  bytes: count.meta({ description: 'Of their payloads.' }),
  packets: count.meta({ description: 'Packets of every kind.' }),
  packet_bytes: count.meta({ description: 'All bytes of MQTT.' }),
})

const countsByReasonSchema = z.record(z.string(), count)

export const mqttStatsSchema = z
  .object({
    version: z.string(),
    uptime_s: count,
    connections: z.object({
      open: count,
      logged_in: count,
      maximum: count.meta({ description: 'The most that were logged in at once.' }),
      limit: count,
      by_transport: z.object({ tcp: count, tls: count, websocket: count }),
    }),
    sessions: z.object({ kept: count, away: count }),
    subscriptions: count,
    retained: z.object({ messages: count, bytes: count }),
    queued: z.object({
      messages: count,
      bytes: count,
      limits: z.object({ messages: count, bytes: count }),
    }),
    received: trafficSchema,
    sent: trafficSchema,
    refused: countsByReasonSchema,
    dropped: countsByReasonSchema,
    write_queue_rows: count,
    waiting_connections: count.meta({ description: 'Connections whose bytes wait to be read.' }),
  })
  .meta({ description: 'Counts since the gateway started.' })

export type MqttStatsJson = z.infer<typeof mqttStatsSchema>

export const quarantineSchema = z.array(
  z.object({
    received_at: isoSchema,
    hardware_id: z.string(),
    topic: z.string(),
    reason: z.string(),
    size_bytes: count,
    payload: z.string().meta({ description: 'The first 4096 bytes, base64.' }),
  }),
)
