import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { MqttStats } from '#shared/mqtt-status.ts'
import type { Tally } from '#shared/tally.ts'
import { registerMqttMetrics } from './mqtt-metrics.ts'
import { registerSyncMetrics, type SyncFigures } from './sync-metrics.ts'

/** Where the figures come from when `/metrics` is asked; nothing is counted for it on the way. */
export interface MetricSources {
  messages: Tally
  dropped: Tally
  commands: Tally
  mqtt: () => MqttStats
  /** Undefined without a head office. */
  sync: SyncFigures | undefined
  keysRefused: Tally
  realtime: Tally
  storeFaults: Tally
  unreadableBlocks: Tally
  deletedRecords: Tally
  /** What only grows, and what goes up and down; by name. */
  counters: Record<string, { help: string; read: () => number }>
  gauges: Record<string, { help: string; read: () => number }>
}

/** The metrics of the gateway and its process in the Prometheus text format. */
export function createMetrics(sources: MetricSources): () => Promise<string> {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  tallyMetric(
    registry,
    'cartbarn_mqtt_messages_total',
    'Messages of devices, by outcome.',
    'outcome',
    sources.messages,
  )
  tallyMetric(
    registry,
    'cartbarn_dropped_total',
    'What was not taken from messages, by reason.',
    'reason',
    sources.dropped,
  )
  tallyMetric(
    registry,
    'cartbarn_commands_total',
    'Commands, by what became of them.',
    'outcome',
    sources.commands,
  )
  tallyMetric(
    registry,
    'cartbarn_keys_refused_total',
    'API keys refused, by reason.',
    'reason',
    sources.keysRefused,
  )
  tallyMetric(
    registry,
    'cartbarn_realtime_total',
    'Realtime frames and closed connections.',
    'kind',
    sources.realtime,
  )
  tallyMetric(
    registry,
    'cartbarn_store_faults_total',
    'Times the store could not be written or read, by code.',
    'code',
    sources.storeFaults,
  )
  tallyMetric(
    registry,
    'cartbarn_unreadable_blocks_total',
    'Telemetry blocks found unreadable, by reason.',
    'reason',
    sources.unreadableBlocks,
  )
  tallyMetric(
    registry,
    'cartbarn_deleted_records_total',
    'Telemetry records deleted, by what deleted them.',
    'by',
    sources.deletedRecords,
  )
  for (const [name, { help, read }] of Object.entries(sources.counters)) {
    const counter: Counter = new Counter({
      name,
      help,
      registers: [registry],
      collect: () => {
        counter.reset()
        counter.inc(read())
      },
    })
  }
  for (const [name, { help, read }] of Object.entries(sources.gauges)) {
    const gauge: Gauge = new Gauge({ name, help, registers: [registry], collect: () => gauge.set(read()) })
  }
  if (sources.sync !== undefined) {
    const { failures } = sources.sync
    tallyMetric(
      registry,
      'cartbarn_sync_failures_total',
      'Requests to the head office that failed, by reason.',
      'reason',
      failures,
    )
    registerSyncMetrics(registry, sources.sync)
  }
  // read once for all of its metrics
  let mqtt: MqttStats | undefined
  registerMqttMetrics(registry, () => mqtt ?? sources.mqtt())
  return () => {
    mqtt = sources.mqtt()
    return registry.metrics()
  }
}

function tallyMetric(registry: Registry, name: string, help: string, label: string, tally: Tally): void {
  const gauge: Gauge = new Gauge({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect: () => {
      for (const [reason, count] of tally.entries()) gauge.set({ [label]: reason }, count)
    },
  })
}
