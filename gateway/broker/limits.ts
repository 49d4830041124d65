import type { Ceiling } from '#shared/budgets/ceiling.ts'
import type { Rates } from '#shared/budgets/rates.ts'
import type { Slots } from '#shared/budgets/slots.ts'

/** Budgets of each owner, over all its connections and sessions. */
export interface BrokerBudgets {
  connections: Slots
  /** Persistent sessions. */
  sessions: Ceiling
  subscriptions: Ceiling
  /** Received messages, counted by their readings, and subscriptions. */
  messages: Rates
}

/** Reasons why a client at a limit is refused, closed or paused: counted from the start, so that a first time shows. */
export const LIMIT_REFUSALS = [
  'too_many_connections',
  'too_many_connections_of_address',
  'too_many_connections_of_owner',
  'too_many_sessions_of_owner',
  'too_many_half_open',
  'too_many_failed_logins',
  'connect_timeout',
  'keepalive_timeout',
  'packet_too_large',
  'too_many_in_flight',
  'too_many_subscriptions',
  'too_many_subscriptions_of_owner',
  'topic_filter_too_long',
  'too_many_topic_levels',
  'throttled',
  'too_many_lock_events',
  'slow_reader_cut',
  'slow_reader_skipped',
] as const

/** Reasons for dropping what was accepted: to make room in one client's queue, in all of them together, and so on. */
export const LIMIT_DROPS = ['queue_full', 'queues_full', 'retained_full', 'session_expired'] as const

/** Error messages with which Aedes closes a connection at its own limits. */
const REFUSAL_BY_AEDES_MESSAGE = new Map<string, (typeof LIMIT_REFUSALS)[number]>([
  ['connect did not arrive in time', 'connect_timeout'],
  ['topic has too many levels', 'too_many_topic_levels'],
])

/** Returns the limit that caused an error which ended a connection, unless it was counted already. */
export function limitOf(error: Error): string | undefined {
  // ws: a frame announced more than `maxPayload`
  if ('code' in error && error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') return 'packet_too_large'
  return REFUSAL_BY_AEDES_MESSAGE.get(error.message)
}
