import type { BrokerPort } from '#domain/broker-port.ts'
import { hasWildcard, TOPIC_FILTER_MAX } from '#domain/mqtt-topics.ts'
import type { Connection, Identity } from './connection.ts'
import type { BrokerBudgets, LIMIT_REFUSALS } from './limits.ts'
import type { Sessions } from './mqtt-sessions/sessions.ts'

/** Number of retained messages that can be matched in the time of one message. */
const RETAINED_A_MESSAGE = 50

interface SubscriptionRules<Login> {
  sessions: Sessions
  budgets: Pick<BrokerBudgets, 'subscriptions' | 'messages'>
  port: Pick<BrokerPort<Login>, 'canSubscribe'>
  /** Limit for one connection. */
  maxSubscriptions: number
}

type Refusal = (typeof LIMIT_REFUSALS)[number] | 'topic_not_readable'

/** Returns why a client may not subscribe, or undefined; the request costs its owner as much as a message. */
export function refuseSubscription<Login>(
  { granted }: Pick<Connection<Login>, 'granted'>,
  { owner, session }: Identity<Login>,
  topicFilter: string,
  { sessions, budgets, port, maxSubscriptions }: SubscriptionRules<Login>,
): Refusal | undefined {
  budgets.messages.spend(owner, costOf(topicFilter, sessions.retained.size))
  if (topicFilter.length > TOPIC_FILTER_MAX) return 'topic_filter_too_long'
  if (!granted.has(topicFilter) && granted.size >= maxSubscriptions) return 'too_many_subscriptions'
  // the subscriptions of a persistent session return with each connection
  const isKnown = session.subscriptions.has(topicFilter)
  if (!isKnown && !budgets.subscriptions.allows(sessions.subscriptionsOf(owner)))
    return 'too_many_subscriptions_of_owner'
  return port.canSubscribe(owner, topicFilter) ? undefined : 'topic_not_readable'
}

/** Returns the cost of a subscription in messages; with a wildcard, all retained messages must be matched. */
function costOf(topicFilter: string, retained: number): number {
  return hasWildcard(topicFilter) ? 1 + retained / RETAINED_A_MESSAGE : 1
}
