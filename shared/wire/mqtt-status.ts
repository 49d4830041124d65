import { z } from 'zod'
import { MQTT_TRANSPORTS } from '#shared/mqtt-status.ts'
import { isoSchema, listQuery, pageQuery, paginationSchema, searchParam } from './schema/params.ts'

const count = z.number().int().min(0)
const perSecond = z.number().meta({ description: 'Messages a second, averaged over the last five to ten seconds.' })

const flowSchema = z
  .object({ messages: count, bytes: count, per_second: perSecond })
  .meta({ description: 'PUBLISH packets and the bytes of their payloads, on this connection.' })

/** Subscriptions of each client in a list. */
export const SHOWN_SUBSCRIPTIONS = 20

export const mqttClientSchema = z
  .object({
    client_id: z.string().meta({
      example: 'cart-07',
      description: 'The hardware_id of a device; a program chooses its own, and two users may choose the same.',
    }),
    kind: z.enum(['device', 'program']).meta({ description: 'A program logs in with an API key.' }),
    user_id: z.string().nullable().meta({ description: 'Whose API key a program has logged in with.' }),
    hardware_id: z.string().nullable().meta({ description: 'Which device it is.', example: 'cart-07' }),
    address: z.string().nullable().meta({ description: 'IP address; null while away.' }),
    transport: z.enum(MQTT_TRANSPORTS).nullable().meta({ description: 'null while away.' }),
    protocol_version: z.number().int().nullable().meta({ description: '3 is MQTT 3.1, 4 is 3.1.1.' }),
    connected: z.boolean().meta({ description: 'false: away, and its session is kept.' }),
    connected_since: isoSchema.nullable().meta({ description: 'null while away.' }),
    clean_session: z.boolean().meta({ description: 'true: its session ends with its connection.' }),
    keepalive_s: count.nullable().meta({ description: 'Seconds; 0 is none; null while away.', example: 60 }),
    subscriptions: z
      .array(
        z.object({
          topic_filter: z.string().meta({ description: 'What it reads.', example: 'dev/cart-07/cmd' }),
          qos: count.max(2).meta({ description: 'The highest it is sent.' }),
        }),
      )
      .meta({ description: `The first ${SHOWN_SUBSCRIPTIONS}.` }),
    subscription_count: count.meta({ description: 'Of all its subscriptions.' }),
    received: flowSchema.nullable(),
    sent: flowSchema.nullable(),
    queue: z.object({ messages: count, bytes: count, in_flight: count, dropped: count }).meta({
      description: 'QoS 1 and 2 messages that are not acknowledged; dropped since the gateway started.',
    }),
    unread_bytes: count.meta({ description: 'Bytes written that the network has not taken yet.' }),
    skipped: count.meta({ description: 'QoS 0 messages dropped because the client reads too slowly.' }),
    throttled: count.meta({ description: 'Times it was made to wait because it sent too much.' }),
    taken_over: count.nullable().meta({
      description:
        'Times since the gateway started that two connections took the id of the device from each other; null ' +
        'for a program.',
    }),
    idle_hours: count.nullable().meta({ description: 'Hours away; null while connected.' }),
  })
  .meta({ id: 'MqttClient' })

export type MqttClientJson = z.infer<typeof mqttClientSchema>

export const mqttClientListSchema = z
  .object({
    clients: z.array(mqttClientSchema),
    pagination: paginationSchema,
  })
  .meta({ id: 'MqttClientList' })

export const mqttClientListQuerySchema = pageQuery('asc', 'By client_id: asc or desc.').extend({
  connected: z.enum(['true', 'false']).optional().meta({ description: 'Only those that are connected, or away.' }),
  search: searchParam('Part of the client_id.').optional(),
})

export const quarantineQuerySchema = listQuery('desc', 'By the time of receipt: desc is newest first.')

export const removedMqttClientQuerySchema = z.object({
  user_id: z.string().optional().meta({ description: 'Only the program of this user.' }),
})

export const removedMqttClientSchema = z.object({
  success: z.literal(true),
  closed: z.boolean().meta({ description: 'It was connected.' }),
  session_discarded: z.boolean().meta({ description: 'Its subscriptions and waiting messages are deleted.' }),
})

const trafficSchema = z.object({
  messages: count.meta({ description: 'PUBLISH packets.' }),
  by_qos: z.object({ qos_0: count, qos_1: count, qos_2: count }).meta({ description: 'PUBLISH packets.' }),
  per_second: perSecond,
  bytes: count.meta({ description: 'Of their payloads.' }),
  packets: count.meta({ description: 'Packets of every kind.' }),
  packet_bytes: count.meta({ description: 'All bytes of MQTT.' }),
})

export const mqttAddressesSchema = z
  .object({
    addresses: z.array(z.string()).meta({
      description:
        'Scheme, host and port; the address of the default route first, mqtt before mqtts. Loopback addresses ' +
        'only while the broker listens on nothing else.',
      example: ['mqtt://192.168.1.5:1883', 'mqtts://192.168.1.5:8883'],
    }),
  })
  .meta({ id: 'MqttAddresses' })

const countsByReasonSchema = z.record(z.string(), count)

export const mqttStatsSchema = z
  .object({
    version: z.string().meta({ description: 'Of the broker.', example: 'cartbarn 1.0.0' }),
    uptime_s: count.meta({ description: 'Seconds since it started.', example: 86400 }),
    connections: z.object({
      open: count.meta({ description: 'Connected, logged in or not.', example: 85 }),
      logged_in: count.meta({ example: 84, description: 'Logged in.' }),
      maximum: count.meta({ description: 'The most clients logged in at once.' }),
      limit: count.meta({ description: 'The most clients allowed at once.', example: 10000 }),
      by_transport: z
        .object({ tcp: count, tls: count, websocket: count })
        .meta({ description: 'Those that are open.' }),
    }),
    sessions: z
      .object({ kept: count, away: count })
      .meta({ description: 'Sessions that outlive their connection, and how many of them are away now.' }),
    subscriptions: count.meta({ description: 'Of all clients.' }),
    retained: z.object({ messages: count, bytes: count }).meta({ description: 'Retained messages kept.' }),
    queued: z
      .object({
        messages: count,
        bytes: count,
        limits: z.object({ messages: count, bytes: count }).meta({ description: 'The most there may be.' }),
      })
      .meta({ description: 'Messages that wait for clients.' }),
    received: trafficSchema,
    sent: trafficSchema,
    refused: countsByReasonSchema.meta({ description: 'Connections and packets refused, by reason.' }),
    dropped: countsByReasonSchema.meta({ description: 'Messages dropped, by reason.' }),
    write_queue_rows: count.meta({ description: 'Rows waiting for the disk.' }),
    waiting_connections: count.meta({ description: 'Connections whose bytes wait to be read.' }),
  })
  .meta({ id: 'MqttStats', description: 'Counts since the gateway started.' })

export type MqttStatsJson = z.infer<typeof mqttStatsSchema>

export const quarantineSchema = z.array(
  z
    .object({
      received_at: isoSchema,
      hardware_id: z.string().meta({ description: 'The device that sent it.', example: 'cart-07' }),
      topic: z.string().meta({ example: 'dev/cart-07/tlm', description: 'The topic it was published on.' }),
      reason: z.string().meta({ description: 'Why it could not be read.', example: 'invalid_json' }),
      size_bytes: count.meta({ description: 'Of the whole payload.', example: 8 }),
      payload: z.string().meta({
        description:
          'The first 4096 bytes, base64; with implausible_time all readings that were refused for it, as JSON.',
        example: 'bm90IGpzb24=',
      }),
    })
    .meta({ id: 'QuarantinedMessage' }),
)
