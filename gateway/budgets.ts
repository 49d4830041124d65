import type { BrokerBudgets } from '#broker/limits.ts'
import type { ListenerBudgets } from '#broker/listeners/admission.ts'
import { Budgets } from '#shared/budgets/budgets.ts'
import { FAILED_KEYS } from '#shared/budgets/failed-keys.ts'
import type { MonotonicClock } from '#shared/time.ts'
import type { Config } from './config.ts'

/** HTTP connections of all addresses, without WebSockets. */
const HTTP_SOCKETS = 4_000
/** Burst of requests or messages per budget key, in seconds of its rate. */
const BURST_S = 4
/** Wrong sign-in codes of one address; limited more than keys, because codes are typed and therefore shorter. */
const FAILED_CODES_OF_ADDRESS = { perSecond: 20 / 60, burst: 20 }
const FAILED_CODES = { perSecond: 5, burst: 300 }
/** `/realtime` connections of all users, and the number of them reserved for admins. */
const REALTIME_SOCKETS = { total: 2_000, reserve: 100 }
/** `/realtime` connections without a login; pages on many screens reconnect together when the network returns. */
const REALTIME_HALF_OPEN = { perOwner: 50, total: 200 }
/** MQTT connections that have not logged in: a quarter of all, a fifth from one address, and never fewer than this. */
const HALF_OPEN_MIN = 100
/** Burst of failed logins per address or user name, in seconds of its rate. */
const FAILED_LOGINS_BURST_S = 20
/** MQTT connections reserved for admins: this number, or a tenth of all if that is less. */
const MQTT_RESERVE = 100
/** Lock events of one device, which stay for the retention; a lock out of reach sends many buffered ones. */
const LOCK_EVENTS = { perSecond: 10, burst: 1_000 }
/** Queued command requests of one user: locking a whole fleet takes 500. */
const WAITING_COMMANDS = 1_000

export function createBudgets(config: Config, clock: MonotonicClock) {
  const budgets = new Budgets(
    [
      'http_sockets',
      'failed_keys',
      'failed_codes',
      'requests',
      'realtime_sockets',
      'realtime_half_open',
      'waiting_commands',
      'downloads',
      'mqtt_connections',
      'mqtt_sessions',
      'mqtt_subscriptions',
      'mqtt_messages',
      'lock_events',
      'mqtt_half_open',
      'failed_logins',
    ],
    clock,
  )
  const perSecond = config.requestsPerSecond
  return {
    refused: budgets.refused,
    httpSockets: budgets.slots('http_sockets', {
      perOwner: config.httpSocketsPerAddress,
      total: HTTP_SOCKETS,
    }),
    failedKeys: budgets.rates('failed_keys', FAILED_KEYS),
    failedCodesOfAddress: budgets.rates('failed_codes', FAILED_CODES_OF_ADDRESS),
    failedCodes: budgets.rates('failed_codes', FAILED_CODES),
    requests: budgets.rates('requests', { perSecond, burst: BURST_S * perSecond }),
    realtimeSockets: budgets.slots('realtime_sockets', {
      ...REALTIME_SOCKETS,
      perOwner: config.userRealtimeSockets,
    }),
    realtimeHalfOpen: budgets.slots('realtime_half_open', REALTIME_HALF_OPEN),
    downloads: budgets.slots('downloads', { perOwner: config.userDownloads }),
    mqtt: {
      connections: budgets.slots('mqtt_connections', {
        perOwner: config.userMqttConnections,
        total: config.mqttConnections,
        reserve: Math.min(MQTT_RESERVE, Math.floor(config.mqttConnections / 10)),
      }),
      sessions: budgets.ceiling('mqtt_sessions', config.userMqttSessions),
      subscriptions: budgets.ceiling('mqtt_subscriptions', config.userMqttSubscriptions),
      messages: budgets.rates('mqtt_messages', {
        perSecond: config.mqttMessagesPerSecond,
        burst: BURST_S * config.mqttMessagesPerSecond,
      }),
    } satisfies BrokerBudgets,
    mqttDoor: {
      halfOpen: budgets.slots('mqtt_half_open', {
        perOwner: Math.max(HALF_OPEN_MIN, Math.floor(config.mqttConnections / 5)),
        total: Math.max(HALF_OPEN_MIN, Math.floor(config.mqttConnections / 4)),
      }),
      failedLogins: budgets.rates('failed_logins', {
        perSecond: config.mqttFailedLoginsPerSecond,
        burst: FAILED_LOGINS_BURST_S * config.mqttFailedLoginsPerSecond,
      }),
    } satisfies ListenerBudgets,
    lockEvents: budgets.rates('lock_events', LOCK_EVENTS),
    commandTurns: budgets.turns('waiting_commands', WAITING_COMMANDS),
  }
}
