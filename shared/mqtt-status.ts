export const MQTT_TRANSPORTS = ['tcp', 'tls', 'websocket'] as const

export type MqttTransport = (typeof MQTT_TRANSPORTS)[number]

/** Number of PUBLISH packets and of their payload bytes. */
export interface MqttFlow {
  messages: number
  bytes: number
  perSecond: number
}

export interface MqttClientName {
  /** Unique name within the broker. */
  key: string
  /** Client id as sent by the client; two users may use the same one. */
  clientId: string
  owner: string
  isConnected: boolean
}

/** Client of the broker: a connection, or a persistent session without one. */
export interface MqttClientStatus {
  clientId: string
  /** Login, as described by the component that accepted it. */
  owner: string
  cleanSession: boolean
  subscriptions: { topicFilter: string; qos: number }[]
  queue: { messages: number; bytes: number; inFlight: number; dropped: number }
  /** Hours without a connection; null while connected. */
  idleHours: number | null
  /** Null while disconnected. */
  connection: {
    address: string
    transport: MqttTransport
    protocolVersion: number
    sinceMs: number
    keepaliveS: number
    received: MqttFlow
    sent: MqttFlow
    unreadBytes: number
    /** QoS 0 messages dropped because the client had not read earlier ones. */
    skipped: number
    /** Number of times reading was paused because the client sent too much. */
    throttled: number
  } | null
}

/** PUBLISH packets of all clients since the start. */
export interface MqttTraffic extends MqttFlow {
  byQos: [number, number, number]
  /** Number of packets parsed by the fast path instead of Aedes. */
  onFastLane: number
  /** Packets of all types, with all their bytes. */
  packets: number
  packetBytes: number
}

/** Statistics of the broker since the process started. */
export interface MqttStats {
  version: string
  uptimeS: number
  connections: {
    open: number
    loggedIn: number
    /** Maximum number of clients connected at the same time. */
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
  /** Connections whose input waits to be read. */
  waitingConnections: number
}
