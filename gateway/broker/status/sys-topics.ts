import { matchesTopic } from '#domain/mqtt-topics.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { MqttStats } from '#shared/mqtt-status.ts'
import { LOAD_WINDOWS_MIN } from '../load-average.ts'
import type { BrokerStatus } from './broker-status.ts'

const PUBLISH_MS = 10_000
const ROOT = '$SYS/broker/'

/** Source: mosquitto(8), "Broker status"; clients/expired counts those that were away for too long. */
const VALUES: Record<string, (stats: MqttStats) => number | string> = {
  version: ({ version }) => version,
  uptime: ({ uptimeS }) => `${uptimeS} seconds`,
  'clients/connected': ({ connections }) => connections.loggedIn,
  'clients/disconnected': ({ sessions }) => sessions.away,
  'clients/total': ({ connections, sessions }) => connections.loggedIn + sessions.away,
  'clients/maximum': ({ connections }) => connections.maximum,
  'clients/expired': ({ dropped }) => dropped.session_expired ?? 0,
  'messages/received': ({ received }) => received.packets,
  'messages/sent': ({ sent }) => sent.packets,
  'messages/stored': ({ queued }) => queued.messages,
  'store/messages/count': ({ queued }) => queued.messages,
  'store/messages/bytes': ({ queued }) => queued.bytes,
  'publish/messages/received': ({ received }) => received.messages,
  'publish/messages/sent': ({ sent }) => sent.messages,
  'publish/messages/dropped': ({ dropped, refused }) =>
    (dropped.queue_full ?? 0) + (dropped.queues_full ?? 0) + (refused.slow_reader_skipped ?? 0),
  'publish/bytes/received': ({ received }) => received.bytes,
  'publish/bytes/sent': ({ sent }) => sent.bytes,
  'bytes/received': ({ received }) => received.packetBytes,
  'bytes/sent': ({ sent }) => sent.packetBytes,
  'subscriptions/count': ({ subscriptions }) => subscriptions,
  'retained messages/count': ({ retained }) => retained.messages,
}

/** Averages for each direction, received and sent, a minute. */
const LOADS = ['messages', 'publish', 'bytes'] as const
const WAYS = ['received', 'sent'] as const

const LOAD_TOPICS = LOADS.flatMap((load) =>
  WAYS.flatMap((way) =>
    LOAD_WINDOWS_MIN.map((minutes) => ({ name: `load/${load}/${way}/${minutes}min`, load, way, minutes })),
  ),
)
const TOPICS = [...Object.keys(VALUES), ...LOAD_TOPICS.map(({ name }) => name)].map((name) => ROOT + name)

/** Status messages with names and meanings of Mosquitto, known values only; computed and sent only while subscribed. */
export class SysTopics implements Component {
  readonly #status: BrokerStatus
  readonly #isWanted: (topic: string) => boolean
  readonly #publish: (topic: string, payload: string) => void
  #timer: NodeJS.Timeout | undefined

  constructor(
    status: BrokerStatus,
    isWanted: (topic: string) => boolean,
    publish: (topic: string, payload: string) => void,
  ) {
    this.#status = status
    this.#isWanted = isWanted
    this.#publish = publish
  }

  async start(): Promise<void> {
    this.#timer = setInterval(() => {
      const wanted = TOPICS.filter(this.#isWanted)
      for (const { topic, payload } of this.#read(wanted)) this.#publish(topic, payload)
    }, PUBLISH_MS)
    this.#timer.unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
  }

  matching(topicFilters: readonly string[]): { topic: string; payload: string }[] {
    return this.#read(TOPICS.filter((topic) => topicFilters.some((filter) => matchesTopic(filter, topic))))
  }

  #read(topics: readonly string[]): { topic: string; payload: string }[] {
    if (topics.length === 0) return []
    const stats = this.#status.stats()
    const values = new Map<string, number | string>()
    for (const [name, read] of Object.entries(VALUES)) values.set(ROOT + name, read(stats))
    for (const { name, load, way, minutes } of LOAD_TOPICS)
      values.set(ROOT + name, this.#status[way].load[load].perMinute(minutes).toFixed(2))
    return topics.map((topic) => ({ topic, payload: String(values.get(topic)) }))
  }
}
