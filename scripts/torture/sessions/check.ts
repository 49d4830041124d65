/** Publishers' record of one topic: its messages are numbered from 1. */
export interface TopicJournal {
  publishQos: 1 | 2
  isRetained: boolean
  /** Number of the newest message made; it may not have left the client. */
  newest: number
  acknowledged: ReadonlySet<number>
}

/** Subscriptions and deliveries of one subscriber. */
export interface SubscriberJournal {
  name: string
  subscriptions: Readonly<Record<string, 0 | 1 | 2>>
  /** Numbers by topic in the order of their delivery, repetitions included. */
  received: ReadonlyMap<string, readonly number[]>
}

/** Result of comparing acknowledged with received messages. */
export interface DeliveryCheck {
  /** Acknowledged messages, once for each subscriber they were for. */
  expected: number
  missing: number
  /** More than once although QoS 2 all the way. */
  twice: number
  /** More than once at QoS 1, which is permitted. */
  repeated: number
  /** Later than a younger one of the same topic, counting each message's first delivery. */
  outOfOrder: number
  /** First few faults. */
  examples: string[]
}

const MAX_EXAMPLES = 10

/** Searches for every acknowledged message at every subscriber it was for. */
export function checkDeliveries(
  topics: ReadonlyMap<string, TopicJournal>,
  subscribers: readonly SubscriberJournal[],
): DeliveryCheck {
  const check = { expected: 0, missing: 0, twice: 0, repeated: 0, outOfOrder: 0, examples: [] }
  for (const { name, subscriptions, received } of subscribers) {
    for (const [topic, journal] of topics) {
      const qos = grantedQos(subscriptions, topic)
      if (qos === null) continue
      const isExactlyOnce = qos === 2 && journal.publishQos === 2
      checkTopic(check, `${name} ${topic}`, journal, received.get(topic) ?? [], isExactlyOnce)
    }
  }
  return check
}

function checkTopic(
  check: DeliveryCheck,
  what: string,
  { acknowledged }: TopicJournal,
  received: readonly number[],
  isExactlyOnce: boolean,
): void {
  const seen = new Set<number>()
  let youngest = 0
  const fault = (kind: string, n: number) => {
    if (check.examples.length < MAX_EXAMPLES) check.examples.push(`${kind}: ${what} ${n}`)
  }
  for (const n of received) {
    if (seen.has(n)) {
      if (isExactlyOnce) {
        check.twice++
        fault('twice', n)
      } else check.repeated++
    } else if (n < youngest) {
      check.outOfOrder++
      fault(`after ${youngest}`, n)
    }
    seen.add(n)
    youngest = Math.max(youngest, n)
  }
  check.expected += acknowledged.size
  for (const n of acknowledged) {
    if (seen.has(n)) continue
    check.missing++
    fault('missing', n)
  }
}

/** Compares a new subscriber's retained messages with those acknowledged before and made by then; returns faults. */
export function checkRetained(
  acknowledgedBefore: ReadonlyMap<string, number>,
  madeAfter: ReadonlyMap<string, number>,
  retained: ReadonlyMap<string, number>,
): string[] {
  const faults: string[] = []
  for (const [topic, oldest] of acknowledgedBefore) {
    const n = retained.get(topic)
    const newest = madeAfter.get(topic) ?? oldest
    if (n === undefined) faults.push(`${topic}: no retained message, ${oldest} was acknowledged`)
    else if (n < oldest || n > newest) faults.push(`${topic}: ${n} is retained, not ${oldest} to ${newest}`)
  }
  return faults
}

/** Highest QoS among the filters that match; null if none does. */
export function grantedQos(subscriptions: Readonly<Record<string, 0 | 1 | 2>>, topic: string): 0 | 1 | 2 | null {
  const granted = Object.entries(subscriptions).filter(([filter]) => isMatch(filter, topic))
  return (
    granted
      .map(([, qos]) => qos)
      .sort()
      .at(-1) ?? null
  )
}

function isMatch(filter: string, topic: string): boolean {
  const [levels, wanted] = [topic.split('/'), filter.split('/')]
  for (const [i, level] of wanted.entries()) {
    if (level === '#') return true
    if (levels[i] === undefined || (level !== '+' && level !== levels[i])) return false
  }
  return wanted.length === levels.length
}
