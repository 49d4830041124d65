import type { MqttClientStatus, MqttFlow } from '#shared/mqtt-status.ts'
import { givenClientId } from '../client-ids.ts'
import type { Connection } from '../connection.ts'
import type { Meter } from '../meter.ts'
import type { Session } from '../mqtt-sessions/session.ts'

/** What there is to say of a client, here (with its connection) or away. */
export function describeClient(
  session: Session,
  connection: Connection<unknown> | undefined,
  nowMs: number,
): MqttClientStatus {
  const { clientId, owner, outbox, isPersistent, subscriptions, idleHours } = session
  return {
    clientId: givenClientId(clientId),
    owner,
    cleanSession: !isPersistent,
    subscriptions: Array.from(subscriptions.values(), ({ topicFilter, qos }) => ({ topicFilter, qos })),
    queue: {
      messages: outbox.messageCount,
      bytes: outbox.byteCount,
      // what the last connection left unacknowledged is on its way to nobody
      inFlight: connection === undefined ? 0 : outbox.inFlightCount,
      dropped: outbox.droppedCount,
    },
    idleHours: connection === undefined ? idleHours : null,
    connection: connection === undefined ? null : describeConnection(connection, nowMs),
  }
}

function describeConnection(
  connection: Connection<unknown>,
  nowMs: number,
): NonNullable<MqttClientStatus['connection']> {
  const { client, address, transport, connectedAtMs, keepaliveS, received, sent } = connection
  return {
    address,
    transport,
    // known since CONNECT; Aedes takes no other
    protocolVersion: client.version ?? 4,
    sinceMs: connectedAtMs,
    keepaliveS,
    received: flowOf(received, nowMs),
    sent: flowOf(sent, nowMs),
    unreadBytes: connection.unreadBytes,
    skipped: connection.skipped,
    throttled: connection.throttled,
  }
}

function flowOf(meter: Meter, nowMs: number): MqttFlow {
  const { messages, bytes } = meter
  return { messages, bytes, perSecond: meter.perSecond(nowMs) }
}
