export const MQTT_TRANSPORTS = ['tcp', 'tls', 'websocket'] as const

/** What MQTT is spoken over. */
export type MqttTransport = (typeof MQTT_TRANSPORTS)[number]

/** PUBLISH packets and the bytes of their payloads. */
export interface MqttFlow {
  messages: number
  bytes: number
  perSecond: number
}

/** What a client of the broker is called. */
export interface MqttClientName {
  /** The one name no other client has. */
  key: string
  /** As the client gave it; those of two users may be the same. */
  clientId: string
  owner: string
  isConnected: boolean
}

/** One client of the broker: a connection, or a session that waits for one. */
export interface MqttClientStatus {
  clientId: string
  /** The login, as the part that accepted it describes it. */
  owner: string
  cleanSession: boolean
  subscriptions: { topicFilter: string; qos: number }[]
  queue: { messages: number; bytes: number; inFlight: number; dropped: number }
  /** Hours without a connection; null while connected. */
  idleHours: number | null
  /** Null while away. */
  connection: {
    address: string
    transport: MqttTransport
    protocolVersion: number
    sinceMs: number
    keepaliveS: number
    received: MqttFlow
    sent: MqttFlow
    unreadBytes: number
    /** QoS 0 messages left out because the client had not read what came before. */
    skipped: number
    /** Times it was not read for a while because it had sent too much. */
    throttled: number
  } | null
}

/** PUBLISH packets of all clients since the start. */
export interface MqttTraffic extends MqttFlow {
  byQos: [number, number, number]
  /** Those that were read in place, and not by Aedes. */
  onFastLane: number
  /** Packets of every kind, and all their bytes. */
  packets: number
  packetBytes: number
}

/** How the broker is doing, since the process started. */
export interface MqttStats {
  version: string
  uptimeS: number
  connections: {
    open: number
    loggedIn: number
    /** The most that were logged in at once. */
    maximum: number
    byTransport: Record<MqttTransport, number>
  }
  sessions: { kept: number; away: number }
  subscriptions: number
  retained: { messages: number; bytes: number }
  queued: { messages: number; bytes: number; limits: { messages: number; bytes: number } }
  received: MqttTraffic
  sent: MqttTraffic
  refused: Record<string, number>
  dropped: Record<string, number>
  /** Connections that wait to be read. */
  waitingConnections: number
}
