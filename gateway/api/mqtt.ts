import type { OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import { TOPIC_FILTER_MAX } from '#domain/mqtt-topics.ts'
import { parseOwner } from '#services/mqtt-access.ts'
import { textSearch } from '#shared/device-filter.ts'
import { NotFoundError, UnavailableError } from '#shared/errors.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { answers, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import type { MqttClientName, MqttClientStatus, MqttFlow, MqttStats, MqttTraffic } from '#shared/mqtt-status.ts'
import { toIso } from '#shared/time.ts'
import {
  type MqttClientJson,
  type MqttStatsJson,
  mqttAddressesSchema,
  mqttClientListQuerySchema,
  mqttClientListSchema,
  mqttStatsSchema,
  quarantineQuerySchema,
  quarantineSchema,
  removedMqttClientQuerySchema,
  removedMqttClientSchema,
  SHOWN_SUBSCRIPTIONS,
} from '#shared/wire/mqtt-status.ts'
import { type ApiEnv, adminOnly, createApi } from './api-env.ts'
import type { DevicesDeps, NetworkDeps, RecordsDeps } from './deps.ts'

const QUARANTINE_LIMIT = 1000
const idParams = z.object({
  client_id: z.string().meta({ description: 'Client id, as in the list.', example: 'cart-07' }),
})

function toMqttClientJson(client: MqttClientStatus, fleet: DevicesDeps['fleet']): MqttClientJson {
  const { connection, queue } = client
  const { kind, id } = parseOwner(client.owner)
  return {
    client_id: client.clientId,
    kind: kind === 'device' ? 'device' : 'program',
    user_id: kind === 'user' ? id : null,
    hardware_id: kind === 'device' ? id : null,
    address: connection?.address ?? null,
    transport: connection?.transport ?? null,
    protocol_version: connection?.protocolVersion ?? null,
    connected: connection !== null,
    connected_since: connection === null ? null : toIso(connection.sinceMs),
    clean_session: client.cleanSession,
    keepalive_s: connection?.keepaliveS ?? null,
    subscriptions: client.subscriptions
      .slice(0, SHOWN_SUBSCRIPTIONS)
      // a subscription stored before the limit existed may be longer
      .map(({ topicFilter, qos }) => ({ topic_filter: topicFilter.slice(0, TOPIC_FILTER_MAX), qos })),
    subscription_count: client.subscriptions.length,
    received: connection && toFlowJson(connection.received),
    sent: connection && toFlowJson(connection.sent),
    queue: {
      messages: queue.messages,
      bytes: queue.bytes,
      in_flight: queue.inFlight,
      dropped: queue.dropped,
    },
    unread_bytes: connection?.unreadBytes ?? 0,
    skipped: connection?.skipped ?? 0,
    throttled: connection?.throttled ?? 0,
    taken_over: kind === 'device' ? (fleet.byHardwareId(id)?.takenOver ?? 0) : null,
    idle_hours: client.idleHours,
  }
}

function toFlowJson({ messages, bytes, perSecond }: MqttFlow) {
  return { messages, bytes, per_second: roundRate(perSecond) }
}

function toTrafficJson({ messages, bytes, perSecond, byQos, packets, packetBytes }: MqttTraffic) {
  const [qos0, qos1, qos2] = byQos
  return {
    messages,
    by_qos: { qos_0: qos0, qos_1: qos1, qos_2: qos2 },
    per_second: roundRate(perSecond),
    bytes,
    packets,
    packet_bytes: packetBytes,
  }
}

function toMqttStatsJson(stats: MqttStats, connectionLimit: number, writeQueueRows: number): MqttStatsJson {
  const { connections } = stats
  return {
    version: stats.version,
    uptime_s: stats.uptimeS,
    connections: {
      open: connections.open,
      logged_in: connections.loggedIn,
      maximum: connections.maximum,
      limit: connectionLimit,
      by_transport: connections.byTransport,
    },
    sessions: stats.sessions,
    subscriptions: stats.subscriptions,
    retained: stats.retained,
    queued: stats.queued,
    received: toTrafficJson(stats.received),
    sent: toTrafficJson(stats.sent),
    refused: stats.refused,
    dropped: stats.dropped,
    write_queue_rows: writeQueueRows,
    waiting_connections: stats.waitingConnections,
  }
}

/** `/mqtt/…`: clients and figures of the broker, and the messages that it could not parse. All for admins. */
export function createMqttApi({
  store,
  fleet,
  broker,
  config,
  mqttAddresses,
}: DevicesDeps & RecordsDeps & NetworkDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    listRoute('/mqtt/clients', 'List MQTT clients', {
      middleware: [adminOnly],
      request: { query: mqttClientListQuerySchema },
      responses: answers(mqttClientListSchema, 'Connections and kept sessions, by client_id.', 400, 403),
    }),
    (c) => {
      const { connected, search = '', order, limit, offset } = c.req.valid('query')
      const isFound = textSearch(search)
      const found = broker.status
        .clients()
        .filter(
          ({ clientId, isConnected }) =>
            (connected === undefined || isConnected === (connected === 'true')) && isFound(clientId),
        )
        .sort(byClientId)
      const clients = inOrder(found, order)
        .slice(offset, offset + limit)
        .map(({ key }) => broker.status.client(key))
        .filter((client) => client !== undefined)
        .map((client) => toMqttClientJson(client, fleet))
      return c.json({ clients, pagination: { limit, offset, returned: clients.length } }, 200)
    },
  )

  api.openapi(
    route.delete('/mqtt/clients/{client_id}', 'Delete an MQTT client', {
      description:
        'Closes its connection and deletes its session: its subscriptions and the messages that wait for it. The ' +
        'client may reconnect. Several users, and a device, may use the same client_id: user_id selects one of ' +
        'them; without user_id all of them are deleted.',
      middleware: [adminOnly],
      request: { params: idParams, query: removedMqttClientQuerySchema },
      responses: {
        200: json(removedMqttClientSchema, 'The connection is closed and the session deleted.'),
        ...problems(400, 403, 404),
      },
    }),
    async (c) => {
      if (!store.health.isUsable) throw new UnavailableError('the session cannot be deleted: the store is not writable')
      const { client_id } = c.req.valid('param')
      const { user_id } = c.req.valid('query')
      const keys = broker.status
        .clients()
        .filter(({ clientId, owner }) => clientId === client_id && (user_id === undefined || isOf(user_id, owner)))
        .map(({ key }) => key)
      const removed = (await Promise.all(keys.map((key) => broker.removeClient(key)))).filter(
        (each) => each !== undefined,
      )
      if (removed.length === 0)
        throw new NotFoundError('client_not_found', 'there is no MQTT client with this client_id')
      const closed = removed.some(({ isClosed }) => isClosed)
      const discarded = removed.some(({ isSessionDiscarded }) => isSessionDiscarded)
      return c.json({ success: true as const, closed, session_discarded: discarded }, 200)
    },
  )

  api.openapi(
    route.get('/mqtt/stats', 'Get the figures of the broker', {
      middleware: [adminOnly],
      responses: answers(mqttStatsSchema, 'Counts and limits of the broker.', 403),
    }),
    (c) => c.json(toMqttStatsJson(broker.status.stats(), config.mqttConnections, store.queue.waitingRows), 200),
  )

  api.openapi(
    route.get('/mqtt/addresses', 'List where devices reach the broker', {
      description:
        'Addresses of this computer with the ports that the broker listens on. Behind a router or a proxy, or in ' +
        'a container, the reachable ones may differ.',
      middleware: [adminOnly],
      responses: answers(mqttAddressesSchema, 'Addresses, the most likely first.', 403),
    }),
    async (c) => c.json({ addresses: await mqttAddresses() }, 200),
  )

  api.openapi(
    listRoute('/mqtt/quarantine', 'List messages that could not be read', {
      description: 'The newest 1000 messages. Includes readings of a batch with implausible times (implausible_time).',
      middleware: [adminOnly],
      request: { query: quarantineQuerySchema },
      responses: answers(quarantineSchema, 'Payloads that could not be parsed, newest first by default.', 400, 403),
    }),
    (c) => {
      const newest = store.read.quarantine(QUARANTINE_LIMIT)
      const entries = c.req.valid('query').order === 'desc' ? newest : newest.reverse()
      return c.json(
        entries.map((entry) => ({
          received_at: toIso(entry.receivedAtMs),
          hardware_id: entry.hardwareId,
          topic: entry.topic,
          reason: entry.reason,
          size_bytes: entry.sizeBytes,
          payload: Buffer.from(entry.payload).toString('base64'),
        })),
        200,
      )
    },
  )

  return api
}

function byClientId(a: MqttClientName, b: MqttClientName): number {
  if (a.clientId !== b.clientId) return a.clientId < b.clientId ? -1 : 1
  return a.key < b.key ? -1 : 1
}

function isOf(userId: string, owner: string): boolean {
  const { kind, id } = parseOwner(owner)
  return kind === 'user' && id === userId
}

function roundRate(perSecond: number): number {
  return Math.round(perSecond * 10) / 10
}
