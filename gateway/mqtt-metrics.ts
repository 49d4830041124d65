import { Counter, Gauge, type Registry } from 'prom-client'
import type { MqttStats } from '#shared/mqtt-status.ts'

interface MqttMetric {
  name: string
  help: string
  /** What `read` tells apart; without one it reads a number. */
  label?: string
  read: (stats: MqttStats) => number | Record<string, number>
}

const GAUGES: MqttMetric[] = [
  {
    name: 'cartbarn_mqtt_connections',
    help: 'MQTT connections that are open, logged in or not.',
    label: 'transport',
    read: ({ connections }) => connections.byTransport,
  },
  {
    name: 'cartbarn_mqtt_clients',
    help: 'MQTT clients connected.',
    read: ({ connections }) => connections.loggedIn,
  },
  {
    name: 'cartbarn_mqtt_clients_maximum',
    help: 'The most MQTT clients that were connected at once.',
    read: ({ connections }) => connections.maximum,
  },
  {
    name: 'cartbarn_mqtt_clients_waiting',
    help: 'MQTT connections waiting to be read.',
    read: ({ waitingConnections }) => waitingConnections,
  },
  {
    name: 'cartbarn_mqtt_sessions',
    help: 'MQTT sessions that are kept, with and without a connection.',
    read: ({ sessions }) => sessions.kept,
  },
  {
    name: 'cartbarn_mqtt_sessions_away',
    help: 'MQTT sessions that are kept and have no connection.',
    read: ({ sessions }) => sessions.away,
  },
  {
    name: 'cartbarn_mqtt_subscriptions',
    help: 'MQTT subscriptions.',
    read: ({ subscriptions }) => subscriptions,
  },
  {
    name: 'cartbarn_mqtt_retained_messages',
    help: 'Retained MQTT messages.',
    read: ({ retained }) => retained.messages,
  },
  {
    name: 'cartbarn_mqtt_retained_bytes',
    help: 'Bytes of the payloads of retained MQTT messages.',
    read: ({ retained }) => retained.bytes,
  },
  {
    name: 'cartbarn_mqtt_queued_messages',
    help: 'MQTT messages that wait for a client or its acknowledgement.',
    read: ({ queued }) => queued.messages,
  },
  {
    name: 'cartbarn_mqtt_queued_bytes',
    help: 'Bytes that the queued MQTT messages are reckoned at.',
    read: ({ queued }) => queued.bytes,
  },
]

const COUNTERS: MqttMetric[] = [
  {
    name: 'cartbarn_mqtt_refused_total',
    help: 'What the broker refused, by reason.',
    label: 'reason',
    read: ({ refused }) => refused,
  },
  {
    name: 'cartbarn_mqtt_dropped_total',
    help: 'What the broker dropped to make room or forgot, by reason.',
    label: 'reason',
    read: ({ dropped }) => dropped,
  },
  {
    name: 'cartbarn_mqtt_received_messages_total',
    help: 'PUBLISH packets received.',
    label: 'qos',
    read: ({ received }) => Object.fromEntries(received.byQos.entries()),
  },
  {
    name: 'cartbarn_mqtt_sent_messages_total',
    help: 'PUBLISH packets sent.',
    label: 'qos',
    read: ({ sent }) => Object.fromEntries(sent.byQos.entries()),
  },
  {
    name: 'cartbarn_mqtt_received_packets_total',
    help: 'MQTT packets of every kind received.',
    read: ({ received }) => received.packets,
  },
  {
    name: 'cartbarn_mqtt_sent_packets_total',
    help: 'MQTT packets of every kind sent.',
    read: ({ sent }) => sent.packets,
  },
  {
    name: 'cartbarn_mqtt_received_bytes_total',
    help: 'Bytes of MQTT received.',
    read: ({ received }) => received.packetBytes,
  },
  {
    name: 'cartbarn_mqtt_sent_bytes_total',
    help: 'Bytes of MQTT sent.',
    read: ({ sent }) => sent.packetBytes,
  },
]

/** Puts the figures of the broker into the metrics: never one per client, so their number stays what it is. */
export function registerMqttMetrics(registry: Registry, stats: () => MqttStats): void {
  for (const { name, help, label, read } of GAUGES) {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: label === undefined ? [] : [label],
      registers: [registry],
      collect: () => {
        for (const [labels, value] of samplesOf(read(stats()), label)) gauge.set(labels, value)
      },
    })
  }
  for (const { name, help, label, read } of COUNTERS) {
    const counter: Counter = new Counter({
      name,
      help,
      labelNames: label === undefined ? [] : [label],
      registers: [registry],
      collect: () => {
        // counted elsewhere: set is what it lacks
        counter.reset()
        for (const [labels, value] of samplesOf(read(stats()), label)) counter.inc(labels, value)
      },
    })
  }
}

function samplesOf(
  value: number | Record<string, number>,
  label = '',
): [labels: Record<string, string>, value: number][] {
  if (typeof value === 'number') return [[{}, value]]
  return Object.entries(value).map(([name, each]) => [{ [label]: name }, each])
}
