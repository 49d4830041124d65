import type { Duplex } from 'node:stream'
import { Broker, type BrokerOptions, type NetworkOptions } from '#broker/broker.ts'
import type { BrokerBudgets } from '#broker/limits.ts'
import { Connections, type ListenerBudgets } from '#broker/listeners/admission.ts'
import { TcpListener } from '#broker/listeners/tcp.ts'
import { TlsListener } from '#broker/listeners/tls.ts'
import { WebSocketListener } from '#broker/listeners/websocket.ts'
import { ReadGate } from '#broker/read-gate.ts'
import { countRows } from '#domain/mqtt-sessions.ts'
import type { MqttLogin } from '#services/mqtt-access.ts'
import type { ClientAddresses } from '#shared/http/client-address.ts'
import { urlHost } from '#shared/http/listener.ts'
import { withPortFaults } from '#shared/http/port-fault.ts'
import type { Log } from '#shared/log.ts'
import type { MqttTransport } from '#shared/mqtt-status.ts'
import type { Clock, MonotonicClock } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { Config } from './config.ts'

/** Limit of QoS 2 messages that a client may publish without releasing one, as a multiple of its send window. */
const RECEIVING_WINDOWS = 10

interface MqttDeps {
  config: Config
  budgets: { mqtt: BrokerBudgets; mqttDoor: ListenerBudgets }
  addresses: Pick<ClientAddresses, 'isProxy'>
  store: Pick<Store, 'read' | 'queue'>
  clock: Clock & MonotonicClock
  log: Log
  hasFastLane: boolean
}

/** Builds the broker, with sessions in the store, and the configured listeners. A full disk queue stops all reading. */
export function createMqtt({ config, budgets, addresses, store, clock, log, hasFastLane }: MqttDeps) {
  const gate = new ReadGate(() => store.queue.isFull)
  store.queue.on('room', () => gate.open())
  // open connections of all listeners
  const limits = { total: config.mqttConnections, perAddress: config.mqttConnectionsPerAddress }
  const connections = new Connections(limits, budgets.mqttDoor, (address) => addresses.isProxy(address))
  const broker = new Broker<MqttLogin>({
    journal: {
      load: () => store.read.mqttSessions(),
      append: (sessionChanges, onStored, onRefused) => {
        const rows = Math.max(1, countRows(sessionChanges))
        store.queue.append({ rows, sessionChanges, onStored, onRefused })
      },
    },
    gate,
    budgets: budgets.mqtt,
    options: { ...brokerOptions(config), hasFastLane },
    clock,
    log,
  })
  const eventsOf = (transport: MqttTransport) => ({
    onConnection: (stream: Duplex, address: string, network: NetworkOptions = {}) => {
      // for a WebSocket, the underlying socket
      const socket = network.request?.socket ?? stream
      const onLoggedIn = () => connections.loggedIn(socket)
      const onLoginFailed = (userName?: string) => connections.loginFailed(address, userName, socket)
      broker.handle(stream, address, { ...network, transport, onLoggedIn, onLoginFailed })
    },
    onHandshakeFailed: (address: string, cause: string) => {
      broker.refusals.add('tls_handshake', { address, cause })
      connections.loginFailed(address)
    },
    onDropped: (reason: string, address: string) => broker.refusals.add(reason, { address }),
  })
  const { host, mqttPort, mqttsPort } = config
  const tcp =
    mqttPort === undefined ? undefined : new TcpListener({ host, port: mqttPort, connections }, eventsOf('tcp'))
  const tls =
    mqttsPort === undefined ? undefined : new TlsListener({ host, port: mqttsPort, connections }, eventsOf('tls'))
  return {
    broker,
    connections,
    tls,
    listeners: [
      tcp && withPortFaults(tcp, 'CARTBARN_MQTT_PORT', 'CARTBARN_HOST'),
      tls && withPortFaults(tls, 'CARTBARN_MQTTS_PORT', 'CARTBARN_HOST'),
    ].filter((listener) => listener !== undefined),
    /** Available once they listen. */
    urls: () => ({
      ...(tcp === undefined ? {} : { mqtt: `mqtt://${urlHost(host)}:${tcp.port}` }),
      ...(tls === undefined ? {} : { mqtts: `mqtts://${urlHost(host)}:${tls.port}` }),
    }),
    webSockets: new WebSocketListener(config.mqttPacketBytes, connections, eventsOf('websocket')),
  }
}

function brokerOptions(config: Config): Omit<BrokerOptions, 'hasFastLane'> {
  return {
    maxPayloadBytes: config.mqttPacketBytes,
    maxUnreadBytes: config.mqttSlowReaderBytes,
    maxSubscriptions: config.mqttSubscriptions,
    maxTopicLevels: config.mqttTopicLevels,
    connectTimeoutMs: config.mqttConnectTimeoutS * 1000,
    // a client need not wait for PUBREC before it publishes more, and most do not
    maxReceiving: RECEIVING_WINDOWS * config.mqttInFlight,
    sessions: {
      outbox: {
        inFlight: config.mqttInFlight,
        messages: config.mqttQueueMessages,
        bytes: config.mqttQueueBytes,
      },
      queued: { messages: config.mqttQueuesMessages, bytes: config.mqttQueuesBytes },
      retained: { messages: config.mqttRetainedMessages, bytes: config.mqttRetainedBytes },
      expiryDays: config.mqttSessionDays,
    },
  }
}
