import { z } from 'zod'
import { MQTT_TRANSPORTS } from '#shared/mqtt-status.ts'
import { isoSchema, listQuery, pageQuery, paginationSchema, searchParam } from './schema/params.ts'

const count = z.number().int().min(0)
const perSecond = z.number().meta({ description: 'Messages per second, averaged over the last five to ten seconds.' })

const flowSchema = z
  .object({ messages: count, bytes: count, per_second: perSecond })
  .meta({ description: 'PUBLISH packets and their payload bytes on this connection.' })

/** Number of subscriptions listed per client. */
export const SHOWN_SUBSCRIPTIONS = 20

export const mqttClientSchema = z
  .object({
    client_id: z.string().meta({
      example: 'cart-07',
      description:
        'Client id: the hardware_id of a device; programs choose their own, which need not be unique among users.',
    }),
    kind: z.enum(['device', 'program']).meta({ description: 'Kind of client; a program logs in with an API key.' }),
    user_id: z.string().nullable().meta({ description: 'User whose API key the program has logged in with.' }),
    hardware_id: z.string().nullable().meta({ description: 'hardware_id of the device.', example: 'cart-07' }),
    address: z.string().nullable().meta({ description: 'IP address; null while disconnected.' }),
    transport: z.enum(MQTT_TRANSPORTS).nullable().meta({ description: 'Transport; null while disconnected.' }),
    protocol_version: z.number().int().nullable().meta({ description: 'Protocol level: 3 is MQTT 3.1, 4 is 3.1.1.' }),
    connected: z.boolean().meta({ description: 'False if only the session exists, without a connection.' }),
    connected_since: isoSchema.nullable().meta({ description: 'Start of the connection; null while disconnected.' }),
    clean_session: z.boolean().meta({ description: 'True if the session ends with the connection.' }),
    keepalive_s: count.nullable().meta({
      description: 'Keep-alive in seconds; 0 for none; null while disconnected.',
      example: 60,
    }),
    subscriptions: z
      .array(
        z.object({
          topic_filter: z.string().meta({
            description: 'Topic filter of the subscription.',
            example: 'dev/cart-07/cmd',
          }),
          qos: count.max(2).meta({ description: 'Maximum QoS of its messages.' }),
        }),
      )
      .meta({ description: `First ${SHOWN_SUBSCRIPTIONS} subscriptions.` }),
    subscription_count: count.meta({ description: 'Number of all its subscriptions.' }),
    received: flowSchema.nullable(),
    sent: flowSchema.nullable(),
    queue: z.object({ messages: count, bytes: count, in_flight: count, dropped: count }).meta({
      description: 'Unacknowledged QoS 1 and 2 messages, and those dropped since the gateway started.',
    }),
    unread_bytes: count.meta({ description: 'Bytes written that the network has not accepted yet.' }),
    skipped: count.meta({ description: 'Number of QoS 0 messages dropped because the client reads too slowly.' }),
    throttled: count.meta({ description: 'Number of times reading was paused because the client sent too much.' }),
    taken_over: count.nullable().meta({
      description:
        'Number of times since the gateway started that two connections took the client id of the device from each ' +
        'other; null for a program.',
    }),
    idle_hours: count.nullable().meta({ description: 'Hours without a connection; null while connected.' }),
  })
  .meta({ id: 'MqttClient' })

export type MqttClientJson = z.infer<typeof mqttClientSchema>

export const mqttClientListSchema = z
  .object({
    clients: z.array(mqttClientSchema),
    pagination: paginationSchema,
  })
  .meta({ id: 'MqttClientList' })

export const mqttClientListQuerySchema = pageQuery('asc', 'Order by client_id: asc or desc.').extend({
  connected: z.enum(['true', 'false']).optional().meta({
    description: 'Filter by connection: only connected or only disconnected clients.',
  }),
  search: searchParam('Search text, matched against the client_id.').optional(),
})

export const quarantineQuerySchema = listQuery('desc', 'Order by time of receipt: desc is newest first.')

export const removedMqttClientQuerySchema = z.object({
  user_id: z.string().optional().meta({ description: 'Filter by user of a program.' }),
})

export const removedMqttClientSchema = z.object({
  success: z.literal(true),
  closed: z.boolean().meta({ description: 'True if the client was connected.' }),
  session_discarded: z.boolean().meta({ description: 'True if its subscriptions and queued messages were deleted.' }),
})

const trafficSchema = z.object({
  messages: count.meta({ description: 'Number of PUBLISH packets.' }),
  by_qos: z.object({ qos_0: count, qos_1: count, qos_2: count }).meta({
    description: 'Number of PUBLISH packets by QoS.',
  }),
  per_second: perSecond,
  bytes: count.meta({ description: 'Payload bytes.' }),
  packets: count.meta({ description: 'Number of packets of all types.' }),
  packet_bytes: count.meta({ description: 'All MQTT bytes.' }),
})

export const mqttAddressesSchema = z
  .object({
    addresses: z.array(z.string()).meta({
      description:
        'Addresses as scheme, host and port; the one of the default route first, mqtt before mqtts. Loopback ' +
        'addresses are only included while the broker listens on nothing else.',
      example: ['mqtt://192.168.1.5:1883', 'mqtts://192.168.1.5:8883'],
    }),
  })
  .meta({ id: 'MqttAddresses' })

const countsByReasonSchema = z.record(z.string(), count)

export const mqttStatsSchema = z
  .object({
    version: z.string().meta({ description: 'Version of the broker.', example: 'cartbarn 1.0.0' }),
    uptime_s: count.meta({ description: 'Time since the start in seconds.', example: 86400 }),
    connections: z.object({
      open: count.meta({ description: 'Number of connections, logged in or not.', example: 85 }),
      logged_in: count.meta({ example: 84, description: 'Number of connections that are logged in.' }),
      maximum: count.meta({ description: 'Maximum number of clients logged in at the same time.' }),
      limit: count.meta({ description: 'Limit of concurrent clients.', example: 10000 }),
      by_transport: z
        .object({ tcp: count, tls: count, websocket: count })
        .meta({ description: 'Number of open connections by transport.' }),
    }),
    sessions: z
      .object({ kept: count, away: count })
      .meta({ description: 'Persistent sessions, and the number of them without a connection.' }),
    subscriptions: count.meta({ description: 'Number of subscriptions of all clients.' }),
    retained: z.object({ messages: count, bytes: count }).meta({ description: 'Number of retained messages.' }),
    queued: z
      .object({
        messages: count,
        bytes: count,
        limits: z.object({ messages: count, bytes: count }).meta({ description: 'Limits of the broker.' }),
      })
      .meta({ description: 'Messages queued for clients.' }),
    received: trafficSchema,
    sent: trafficSchema,
    refused: countsByReasonSchema.meta({ description: 'Rejected connections and packets, by reason.' }),
    dropped: countsByReasonSchema.meta({ description: 'Dropped messages, by reason.' }),
    write_queue_rows: count.meta({ description: 'Rows waiting for the disk.' }),
    waiting_connections: count.meta({ description: 'Connections with input that waits to be read.' }),
  })
  .meta({ id: 'MqttStats', description: 'Counters since the gateway started.' })

export type MqttStatsJson = z.infer<typeof mqttStatsSchema>

export const quarantineSchema = z.array(
  z
    .object({
      received_at: isoSchema,
      hardware_id: z.string().meta({ description: 'Device that sent the message.', example: 'cart-07' }),
      topic: z.string().meta({ example: 'dev/cart-07/tlm', description: 'Topic of the message.' }),
      reason: z.string().meta({ description: 'Reason for which it could not be read.', example: 'invalid_json' }),
      size_bytes: count.meta({ description: 'Size of the whole payload in bytes.', example: 8 }),
      payload: z.string().meta({
        description: 'First 4096 bytes, base64; with implausible_time all rejected readings, as JSON.',
        example: 'bm90IGpzb24=',
      }),
    })
    .meta({ id: 'QuarantinedMessage' }),
)
