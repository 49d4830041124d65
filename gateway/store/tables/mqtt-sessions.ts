import type {
  QueuedMessage,
  ReceivedPacketId,
  SessionChange,
  StoredMessage,
  StoredSession,
  StoredSessions,
  StoredSubscription,
  StoredWill,
} from '#domain/mqtt-sessions.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'

export const mqttSessionTable = table('mqtt_session', {
  care: {
    what: 'the sessions of MQTT clients',
    meaning: 'Clients without a session start a new one when they connect next.',
  },
})

export const mqttSubscriptionTable = table('mqtt_subscription', {
  care: {
    what: 'the subscriptions of MQTT clients',
    meaning: 'Clients without their subscriptions receive nothing until they subscribe again.',
  },
  json: {
    extra: { type: 'object', cure: 'null' },
  },
})

export const mqttQueuedTable = table('mqtt_queued', {
  care: {
    what: 'the messages queued for MQTT clients',
    meaning: 'Missing messages are not delivered.',
  },
  json: {
    extra: { type: 'object', cure: 'null' },
  },
})

export const mqttReceivedTable = table('mqtt_received', {
  care: {
    what: 'the QoS 2 messages received',
    meaning: 'A message may be delivered twice.',
  },
  json: {
    extra: { type: 'object', cure: 'null' },
  },
})

export const mqttRetainedTable = table('mqtt_retained', {
  care: {
    what: 'the retained messages',
    meaning: 'Configurations and zones are published again at the start; others when they are sent again.',
  },
  json: {
    extra: { type: 'object', cure: 'null' },
  },
})

export const mqttWillTable = table('mqtt_will', {
  care: {
    what: 'the last wills of MQTT clients',
    meaning: 'A missing last will is not published.',
  },
  json: {
    extra: { type: 'object', cure: 'null' },
  },
})

interface MessageRow {
  topic: string
  payload: Uint8Array | string
  qos: number
  isRetained: number
  extra: string | null
}

const MESSAGE_COLUMNS = 'topic, payload, qos, is_retained, extra'

/** Stored sessions and messages of the broker, in insertion order. */
export function loadMqttSessions(connection: Connection): StoredSessions {
  return {
    sessions: connection.all<StoredSession>('SELECT client_id, owner, idle_hours FROM mqtt_session ORDER BY client_id'),
    subscriptions: connection.all<StoredSubscription>(
      `SELECT client_id, topic_filter, qos, extra
       FROM mqtt_subscription ORDER BY client_id, topic_filter`,
    ),
    queued: connection
      .all<MessageRow & { seq: number; clientId: string; packetId: number; isReleased: number }>(
        `SELECT seq, client_id, packet_id, is_released, ${MESSAGE_COLUMNS}
         FROM mqtt_queued ORDER BY seq`,
      )
      .map((row): QueuedMessage => {
        const { seq, clientId, packetId, isReleased } = row
        return { seq, clientId, packetId, isReleased: isReleased === 1, message: messageOf(row) }
      }),
    received: connection.all<ReceivedPacketId>(
      'SELECT client_id, packet_id, extra FROM mqtt_received ORDER BY client_id, packet_id',
    ),
    retained: connection
      .all<MessageRow>('SELECT topic, payload, qos, 1 AS isRetained, extra FROM mqtt_retained ORDER BY rowid')
      .map(messageOf),
    wills: connection
      .all<MessageRow & { clientId: string; owner: string }>(
        `SELECT client_id, owner, ${MESSAGE_COLUMNS} FROM mqtt_will ORDER BY client_id`,
      )
      .map((row): StoredWill => ({ clientId: row.clientId, owner: row.owner, message: messageOf(row) })),
  }
}

/** Writes one change; the caller holds the transaction. */
export function applySessionChange(connection: Connection, change: SessionChange): void {
  switch (change.kind) {
    case 'opened':
      connection.run(
        'INSERT OR REPLACE INTO mqtt_session (client_id, owner) VALUES (?, ?)',
        change.clientId,
        change.owner,
      )
      break
    case 'discarded':
      discardMqttSession(connection, change.clientId)
      break
    case 'subscribed':
      connection.run(
        'INSERT OR REPLACE INTO mqtt_subscription (client_id, topic_filter, qos, extra) VALUES (?, ?, ?, ?)',
        change.clientId,
        change.topicFilter,
        change.qos,
        change.extra,
      )
      break
    case 'unsubscribed':
      connection.run(
        'DELETE FROM mqtt_subscription WHERE client_id = ? AND topic_filter = ?',
        change.clientId,
        change.topicFilter,
      )
      break
    case 'queued':
      connection.run(
        `INSERT OR REPLACE INTO mqtt_queued
         (seq, client_id, packet_id, is_released, topic, payload, qos, is_retained, extra)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        change.seq,
        change.clientId,
        change.packetId,
        Number(change.isReleased),
        ...messageValues(change.message),
      )
      break
    case 'released':
      connection.run('UPDATE mqtt_queued SET is_released = 1 WHERE seq = ?', change.seq)
      break
    case 'dequeued':
      for (const seq of change.seqs) connection.run('DELETE FROM mqtt_queued WHERE seq = ?', seq)
      break
    case 'received':
      connection.run(
        'INSERT OR REPLACE INTO mqtt_received (client_id, packet_id, extra) VALUES (?, ?, ?)',
        change.clientId,
        change.packetId,
        change.extra,
      )
      break
    case 'completed':
      connection.run(
        'DELETE FROM mqtt_received WHERE client_id = ? AND packet_id = ?',
        change.clientId,
        change.packetId,
      )
      break
    case 'completedAll':
      connection.run('DELETE FROM mqtt_received WHERE client_id = ?', change.clientId)
      break
    case 'retained': {
      const { topic, payload, qos, extra } = change.message
      connection.run(
        'INSERT OR REPLACE INTO mqtt_retained (topic, payload, qos, extra) VALUES (?, ?, ?, ?)',
        topic,
        payload,
        qos,
        extra,
      )
      break
    }
    case 'unretained':
      connection.run('DELETE FROM mqtt_retained WHERE topic = ?', change.topic)
      break
    case 'willed':
      connection.run(
        `INSERT OR REPLACE INTO mqtt_will
         (client_id, owner, topic, payload, qos, is_retained, extra) VALUES (?, ?, ?, ?, ?, ?, ?)`,
        change.clientId,
        change.owner,
        ...messageValues(change.message),
      )
      break
    case 'unwilled':
      connection.run('DELETE FROM mqtt_will WHERE client_id = ?', change.clientId)
      break
    case 'idled':
      for (const { clientId, hours } of change.idle)
        connection.run('UPDATE mqtt_session SET idle_hours = ? WHERE client_id = ?', hours, clientId)
      break
  }
}

function discardMqttSession(connection: Connection, clientId: string): void {
  connection.run('DELETE FROM mqtt_session WHERE client_id = ?', clientId)
  connection.run('DELETE FROM mqtt_subscription WHERE client_id = ?', clientId)
  connection.run('DELETE FROM mqtt_queued WHERE client_id = ?', clientId)
  connection.run('DELETE FROM mqtt_received WHERE client_id = ?', clientId)
}

/** Deletes the session, the last will and the retained messages of a device. */
export function deleteMqttTraces(connection: Connection, hardwareId: string): void {
  discardMqttSession(connection, hardwareId)
  connection.run('DELETE FROM mqtt_will WHERE client_id = ?', hardwareId)
  // hardware ids have no character that sorts between / and 0
  connection.run('DELETE FROM mqtt_retained WHERE topic > ? AND topic < ?', `dev/${hardwareId}/`, `dev/${hardwareId}0`)
}

function messageOf({ topic, payload, qos, isRetained, extra }: MessageRow): StoredMessage {
  return { topic, payload, qos, isRetained: isRetained === 1, extra }
}

function messageValues({ topic, payload, qos, isRetained, extra }: StoredMessage) {
  return [topic, payload, qos, Number(isRetained), extra]
}
