import type { SyncAgent } from '#agent/agent.ts'
import type { BrokerStatus } from '#broker/status/broker-status.ts'
import type { Counter } from '#shared/counter.ts'
import type { MqttStats } from '#shared/mqtt-status.ts'
import { SYNC_STATES, type SyncStatus } from '#shared/sync-status.ts'

const DAY_S = 86_400

/** Components that the metrics read on each request of `/metrics`. */
export interface MetricParts {
  ingest: { messages: Counter; dropped: Counter; unverifiedTimes: number }
  delivery: { outcomes: Counter; unfinishedCount: number }
  gate: { refused: Counter }
  ownLocks: { sent: Counter }
  keyGuard: { refused: Counter }
  sessions: { size: number; actingCount: number; ended: Counter }
  persons: { tries: Counter }
  accessRequests: { size: number }
  budgets: { refused: Counter }
  realtime: { sentFrames: number; closed: Counter; connectionCount: number }
  broker: { status: Pick<BrokerStatus, 'stats'> }
  store: {
    faults: Counter
    health: { isUsable: boolean }
    commitTimes: { p99S: () => number }
    queue: { waitingRows: number }
    damage: { counts: Counter }
  }
  damage: { unreadable: Counter; summary: { blocks: number } }
  backups: { failures: number; status: { lastGoodMs: number | null } | null }
  /** State of the database check; `last` is undefined until a check has ended. */
  databaseCheck: { last: { atMs: number; damaged: readonly string[] } | undefined }
  telemetry: { deleted: Counter }
  eventDeletion: { deleted: Counter }
  alerts: { opened: Counter; openCounts(): [kind: string, count: number][] }
  sealing: { counts: { samples: number; failures: number; seconds: number } }
  diskGuard: {
    counts: { droppedUnsent: number; deletedSent: number }
    use: { usedBytes: number; budgetBytes: number }
  }
  /** Retention in days; 0 means permanently. */
  config: { retentionDays: number; eventRetentionDays: number }
  outbox: {
    delivered: Counter
    failed: Counter
    dropped: Counter
    waitingByChannel: () => Iterable<readonly [channel: string, count: number]>
  }
  fleet: { size: number; sharedKeyCount: number; wrongClockCount: number }
  clock: { isTrusted: boolean; doubt: string | null }
  clockConfirmation: { isConfirmed: boolean }
  recall: { active: object | null }
  /** Undefined without TLS. */
  certificate: { expiresAtS: number } | undefined
  /** Undefined without a hub. */
  sync: Pick<SyncAgent, 'failures' | 'sentBytes' | 'status'> | undefined
}

/** Components, and expensive values read once for all metrics of one response. */
interface Figures extends MetricParts {
  mqtt: MqttStats
  syncStatus: SyncStatus | undefined
}

interface Metric {
  /** Type of the metric; a counter only grows until the process ends, and its name, and no other, ends in `_total`. */
  type: 'counter' | 'gauge'
  help: string
  read: Read
  label: string | undefined
}

/** Returns the value, or the values by label, or undefined if the gateway has no such component. */
type Read = (figures: Figures) => number | Iterable<readonly [label: string | number, value: number]> | undefined

const counter = (help: string, read: Read, label?: string): Metric => ({ type: 'counter', help, read, label })
const gauge = (help: string, read: Read, label?: string): Metric => ({ type: 'gauge', help, read, label })

/** Metrics of the gateway. None has a label per device or client, so their number does not grow with the fleet. */
export const METRICS: Readonly<Record<string, Metric>> = {
  cartbarn_device_messages_received_total: counter('MQTT messages that devices sent to the gateway.', ({ ingest }) =>
    ingest.messages.get('received'),
  ),
  cartbarn_device_messages_stored_total: counter(
    'Messages of devices that the gateway wrote to the disk.',
    ({ ingest }) => ingest.messages.get('stored'),
  ),
  cartbarn_dropped_total: counter(
    'Messages of devices, and single values in them, that the gateway did not store, by reason.',
    ({ ingest }) => ingest.dropped.entries(),
    'reason',
  ),
  cartbarn_devices: gauge('Registered devices.', ({ fleet }) => fleet.size),
  cartbarn_devices_on_shared_key: gauge(
    'Devices that enrolled with the shared key and have not confirmed a password of their own yet.',
    ({ fleet }) => fleet.sharedKeyCount,
  ),
  cartbarn_devices_with_wrong_clock: gauge(
    'Devices whose clock is more than two minutes off, by a confirmed clock of the gateway.',
    ({ fleet }) => fleet.wrongClockCount,
  ),
  cartbarn_commands_total: counter(
    'Steps of commands to devices, such as created, published or completed, by step.',
    ({ delivery }) => delivery.outcomes.entries(),
    'outcome',
  ),
  cartbarn_notifications_delivered_total: counter(
    'Messages about alerts that were delivered, by channel.',
    ({ outbox }) => outbox.delivered.entries(),
    'channel',
  ),
  cartbarn_notifications_failed_total: counter(
    'Attempts to deliver a message about alerts that failed, by channel.',
    ({ outbox }) => outbox.failed.entries(),
    'channel',
  ),
  cartbarn_notifications_dropped_total: counter(
    'Messages about alerts that were dropped after 24 hours or because too many waited, by channel.',
    ({ outbox }) => outbox.dropped.entries(),
    'channel',
  ),
  cartbarn_notifications_waiting: gauge(
    'Messages about alerts that wait for webhooks and notifiers, by channel.',
    ({ outbox }) => outbox.waitingByChannel(),
    'channel',
  ),
  cartbarn_commands_unfinished: gauge(
    'Commands that devices have not yet completed and that have not failed.',
    ({ delivery }) => delivery.unfinishedCount,
  ),
  cartbarn_locks_refused_total: counter(
    'Locks that were not sent because of the position or the speed of their cart, by reason.',
    ({ gate }) => gate.refused.entries(),
    'reason',
  ),
  cartbarn_own_locks_total: counter(
    'Locks that the gateway made automatically: of carts at rest, and of carts at closing time.',
    ({ ownLocks }) => ownLocks.sent.entries(),
    'requested_by',
  ),
  cartbarn_keys_refused_total: counter(
    'Requests and logins refused because of their API key or its request rate, by reason.',
    ({ keyGuard }) => keyGuard.refused.entries(),
    'reason',
  ),
  cartbarn_sessions: gauge('Browsers that are signed in.', ({ sessions }) => sessions.size),
  cartbarn_sessions_ended_total: counter(
    'Sessions that ended, by reason.',
    ({ sessions }) => sessions.ended.entries(),
    'reason',
  ),
  cartbarn_persons_acting: gauge(
    'Sessions on which a user is signed in with a PIN.',
    ({ sessions }) => sessions.actingCount,
  ),
  cartbarn_pin_tries_total: counter(
    'PINs that were entered on tablets, by result; locked ones were not compared.',
    ({ persons }) => persons.tries.entries(),
    'outcome',
  ),
  cartbarn_access_requests: gauge(
    'Tablets that asked for access and have not signed in yet.',
    ({ accessRequests }) => accessRequests.size,
  ),
  cartbarn_budget_refused_total: counter(
    'Actions refused to users, devices and addresses because of a limit per user, device or address, by limit.',
    ({ budgets }) => budgets.refused.entries(),
    'budget',
  ),
  cartbarn_realtime_connections: gauge(
    'Open WebSocket connections to /realtime.',
    ({ realtime }) => realtime.connectionCount,
  ),
  cartbarn_realtime_closed_total: counter(
    'Connections to /realtime that the gateway closed, by reason.',
    ({ realtime }) => realtime.closed.entries(),
    'reason',
  ),
  cartbarn_realtime_sent_frames_total: counter(
    'WebSocket frames about devices that the gateway sent to clients of /realtime.',
    ({ realtime }) => realtime.sentFrames,
  ),
  cartbarn_alerts: gauge('Alerts that are not closed, by kind.', ({ alerts }) => alerts.openCounts(), 'kind'),
  cartbarn_alerts_opened_total: counter(
    'Alerts that the gateway opened, by kind.',
    ({ alerts }) => alerts.opened.entries(),
    'kind',
  ),
  cartbarn_store_usable: gauge('1 while the gateway can write to its database, 0 while it cannot.', ({ store }) =>
    Number(store.health.isUsable),
  ),
  cartbarn_store_faults_total: counter(
    'Reads and writes of the database that failed, by error code.',
    ({ store }) => store.faults.entries(),
    'code',
  ),
  cartbarn_write_queue_rows: gauge(
    'Rows in memory that wait to be written to the database.',
    ({ store }) => store.queue.waitingRows,
  ),
  cartbarn_commit_p99_seconds: gauge('99th percentile of the durations of the last 512 commits.', ({ store }) =>
    store.commitTimes.p99S(),
  ),
  cartbarn_sealed_samples_total: counter(
    'Telemetry samples moved from the log into blocks.',
    ({ sealing }) => sealing.counts.samples,
  ),
  cartbarn_sealing_seconds_total: counter(
    'Time spent on moving telemetry from the log into blocks, without pauses.',
    ({ sealing }) => sealing.counts.seconds,
  ),
  cartbarn_sealing_failures_total: counter(
    'Failed attempts to move telemetry from the log into blocks; the telemetry stays in the log.',
    ({ sealing }) => sealing.counts.failures,
  ),
  cartbarn_unreadable_blocks_total: counter(
    'Telemetry blocks that the gateway could not read, by reason.',
    ({ damage }) => damage.unreadable.entries(),
    'reason',
  ),
  cartbarn_damage_found_total: counter(
    'Damage of the database that the gateway found, by outcome; GET /health shows the tables.',
    ({ store }) => store.damage.counts.entries(),
    'outcome',
  ),
  cartbarn_damaged_blocks: gauge(
    'Telemetry blocks that are damaged on the disk and quarantined.',
    ({ damage }) => damage.summary.blocks,
  ),
  cartbarn_last_backup_timestamp_seconds: gauge(
    'Time of the last successful nightly backup, in seconds since 1970; 0 if there was none, or none is configured.',
    ({ backups: { status } }) => Math.floor((status?.lastGoodMs ?? 0) / 1000),
  ),
  cartbarn_backup_failures_total: counter(
    'Nightly backups that failed since the start.',
    ({ backups }) => backups.failures,
  ),
  cartbarn_database_check_timestamp_seconds: gauge(
    'Time at which the last check of the database ended, in seconds since 1970; 0 before the first.',
    ({ databaseCheck: { last } }) => Math.floor((last?.atMs ?? 0) / 1000),
  ),
  cartbarn_database_check_damaged: gauge(
    'Tables that the last check found damaged, and the file if the damage is outside all tables.',
    ({ databaseCheck: { last } }) => last?.damaged.length ?? 0,
  ),
  cartbarn_deleted_records_total: counter(
    'Telemetry records deleted by request or for their age, by cause.',
    ({ telemetry }) => telemetry.deleted.entries(),
    'by',
  ),
  cartbarn_deleted_events_total: counter(
    'Events, commands and entries of the audit log deleted for their age, by kind.',
    ({ eventDeletion }) => eventDeletion.deleted.entries(),
    'kind',
  ),
  cartbarn_disk_deleted_records_total: counter(
    'Telemetry records deleted to free disk space that the hub already has.',
    ({ diskGuard }) => diskGuard.counts.deletedSent,
  ),
  cartbarn_disk_dropped_records_total: counter(
    'Telemetry records deleted to free disk space that the hub does not have.',
    ({ diskGuard }) => diskGuard.counts.droppedUnsent,
  ),
  cartbarn_disk_used_bytes: gauge('Disk space that the data folder uses.', ({ diskGuard }) => diskGuard.use.usedBytes),
  cartbarn_disk_budget_bytes: gauge(
    'Disk space that the data folder may use.',
    ({ diskGuard }) => diskGuard.use.budgetBytes,
  ),
  cartbarn_retention_seconds: gauge(
    'Retention of telemetry and events; 0 means permanently.',
    ({ config: { retentionDays, eventRetentionDays } }) => [
      ['telemetry', retentionDays * DAY_S],
      ['events', eventRetentionDays * DAY_S],
    ],
    'of',
  ),
  cartbarn_clock_trusted: gauge(
    '1 while the clock of the gateway is set, 0 while its times are estimates.',
    ({ clock }) => Number(clock.isTrusted),
  ),
  cartbarn_clock_confirmed: gauge(
    '1 while the clock of the gateway is confirmed, 0 while automatic actions wait for it.',
    ({ clockConfirmation }) => Number(clockConfirmation.isConfirmed),
  ),
  cartbarn_clock_doubted: gauge(
    '1 while the clock of the gateway is in doubt, so that nothing is deleted by age.',
    ({ clock }) => Number(clock.doubt !== null),
  ),
  cartbarn_recall_active: gauge('1 while a recall is active.', ({ recall }) => Number(recall.active !== null)),
  cartbarn_unverified_times_total: counter(
    'Times of devices that the gateway stored unchecked because its clock was in doubt.',
    ({ ingest }) => ingest.unverifiedTimes,
  ),
  cartbarn_tls_certificate_expiry_timestamp_seconds: gauge(
    'Time at which the TLS certificate in use expires, in seconds since 1970.',
    ({ certificate }) => certificate?.expiresAtS,
  ),
  cartbarn_mqtt_connections: gauge(
    'Open MQTT connections, logged in or not, by transport.',
    ({ mqtt }) => Object.entries(mqtt.connections.byTransport),
    'transport',
  ),
  cartbarn_mqtt_clients: gauge('MQTT clients that are logged in.', ({ mqtt }) => mqtt.connections.loggedIn),
  cartbarn_mqtt_clients_maximum: gauge(
    'Largest number of MQTT clients that were logged in at the same time since the start.',
    ({ mqtt }) => mqtt.connections.maximum,
  ),
  cartbarn_mqtt_connections_waiting: gauge(
    'MQTT connections that wait for the broker to read from them.',
    ({ mqtt }) => mqtt.waitingConnections,
  ),
  cartbarn_mqtt_sessions: gauge(
    'MQTT sessions that the broker keeps, with and without a connection.',
    ({ mqtt }) => mqtt.sessions.kept,
  ),
  cartbarn_mqtt_sessions_away: gauge(
    'MQTT sessions that the broker keeps for clients that are not connected.',
    ({ mqtt }) => mqtt.sessions.away,
  ),
  cartbarn_mqtt_subscriptions: gauge('MQTT subscriptions of all sessions.', ({ mqtt }) => mqtt.subscriptions),
  cartbarn_mqtt_retained_messages: gauge('Retained MQTT messages.', ({ mqtt }) => mqtt.retained.messages),
  cartbarn_mqtt_retained_bytes: gauge(
    'Payload bytes of all retained MQTT messages.',
    ({ mqtt }) => mqtt.retained.bytes,
  ),
  cartbarn_mqtt_queued_messages: gauge(
    'MQTT messages that wait for their client or for its acknowledgement.',
    ({ mqtt }) => mqtt.queued.messages,
  ),
  cartbarn_mqtt_queued_bytes: gauge(
    'Memory that the queued MQTT messages are estimated to need.',
    ({ mqtt }) => mqtt.queued.bytes,
  ),
  cartbarn_mqtt_refused_total: counter(
    'Connections, logins and packets that the MQTT broker refused, by reason.',
    ({ mqtt }) => Object.entries(mqtt.refused),
    'reason',
  ),
  cartbarn_mqtt_dropped_total: counter(
    'Messages and sessions that the MQTT broker deleted because of a limit, by reason.',
    ({ mqtt }) => Object.entries(mqtt.dropped),
    'reason',
  ),
  cartbarn_mqtt_received_messages_total: counter(
    'MQTT PUBLISH packets that the broker received, by QoS.',
    ({ mqtt }) => mqtt.received.byQos.entries(),
    'qos',
  ),
  cartbarn_mqtt_received_messages_by_way_total: counter(
    'MQTT PUBLISH packets that the broker received, by path: fast was read in place, slow went through Aedes.',
    ({ mqtt: { received } }) => [
      ['fast', received.onFastLane],
      ['slow', received.messages - received.onFastLane],
    ],
    'way',
  ),
  cartbarn_mqtt_sent_messages_total: counter(
    'MQTT PUBLISH packets that the broker sent, by QoS.',
    ({ mqtt }) => mqtt.sent.byQos.entries(),
    'qos',
  ),
  cartbarn_mqtt_received_packets_total: counter(
    'MQTT packets of every kind that the broker received.',
    ({ mqtt }) => mqtt.received.packets,
  ),
  cartbarn_mqtt_sent_packets_total: counter(
    'MQTT packets of every kind that the broker sent.',
    ({ mqtt }) => mqtt.sent.packets,
  ),
  cartbarn_mqtt_received_bytes_total: counter(
    'Bytes of all MQTT packets that the broker received.',
    ({ mqtt }) => mqtt.received.packetBytes,
  ),
  cartbarn_mqtt_sent_bytes_total: counter(
    'Bytes of all MQTT packets that the broker sent.',
    ({ mqtt }) => mqtt.sent.packetBytes,
  ),
  cartbarn_sync_state: gauge(
    '1 for the current state of the replication to the hub, 0 for all other states.',
    ({ syncStatus }) => syncStatus && SYNC_STATES.map((name) => [name, Number(name === syncStatus.state)]),
    'state',
  ),
  cartbarn_sync_last_contact_timestamp_seconds: gauge(
    'Time of the last response of the hub, in seconds since 1970; NaN before the first.',
    ({ syncStatus }) => syncStatus && (syncStatus.lastContactMs ?? Number.NaN) / 1000,
  ),
  cartbarn_sync_backlog_rows: gauge(
    'Rows that the gateway has not yet sent to the hub, by stream, as last counted; NaN for some that ' +
      'are not counted yet.',
    ({ syncStatus }) => syncStatus?.streams.map(({ stream, waitingRows }) => [stream, waitingRows ?? Number.NaN]),
    'stream',
  ),
  cartbarn_sync_acked_rows_total: counter('Rows that the hub acknowledged.', ({ syncStatus }) => syncStatus?.ackedRows),
  cartbarn_sync_sent_bytes_total: counter(
    'Bytes of request bodies sent to the hub, by request: push sends rows, latest sends device states.',
    ({ sync }) => sync?.sentBytes.entries(),
    'request',
  ),
  cartbarn_sync_failures_total: counter(
    'Requests to the hub that failed, by reason.',
    ({ sync }) => sync?.failures.entries(),
    'reason',
  ),
  cartbarn_sync_audit_compared_rows: gauge(
    'Rows that the last audit compared with those of the hub, by kind.',
    ({ syncStatus }) => syncStatus && auditCounts(syncStatus).map(([kind, { rows }]) => [kind, rows]),
    'kind',
  ),
  cartbarn_sync_audit_confirmed_rows: gauge(
    'Rows of the last audit that the hub also has, by kind.',
    ({ syncStatus }) => syncStatus && auditCounts(syncStatus).map(([kind, { confirmed }]) => [kind, confirmed]),
    'kind',
  ),
}

/** Gauges of prom-client with the name of a counter; each is the sum of another metric. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

/** Returns the handler of `/metrics`: the metrics of the gateway and its process in the Prometheus text format. */
export function createMetrics(parts: MetricParts): () => Promise<string> {
  let loading: ReturnType<typeof loadClient> | undefined
  return async () => {
    loading ??= loadClient()
    const { Counter, Gauge, Registry, ofProcess } = await loading
    const figures = { ...parts, mqtt: parts.broker.status.stats(), syncStatus: parts.sync?.status }
    // new for each response, because a counter of prom-client cannot be set, and the components count these themselves
    const ofGateway = new Registry()
    for (const [name, { type, help, read, label }] of Object.entries(METRICS)) {
      const reading = read(figures)
      if (reading === undefined) continue
      const options = { name, help, labelNames: label === undefined ? [] : [label], registers: [ofGateway] }
      const metric = type === 'counter' ? new Counter(options) : new Gauge(options)
      if (typeof reading === 'number') metric.inc(reading)
      else for (const [value, count] of reading) metric.inc({ [label ?? '']: value }, count)
    }
    return `${await ofProcess.metrics()}\n${await ofGateway.metrics()}`
  }
}

/** Loads prom-client for the first response: it takes 30 ms and a timer, which a gateway without a scraper saves. */
async function loadClient() {
  const { Counter, collectDefaultMetrics, Gauge, Registry } = await import('prom-client')
  const ofProcess = new Registry()
  collectDefaultMetrics({ register: ofProcess })
  for (const name of MISNAMED) ofProcess.removeSingleMetric(name)
  return { Counter, Gauge, Registry, ofProcess }
}

function auditCounts({ audit }: SyncStatus) {
  return Object.entries(audit.last?.counts ?? {})
}
