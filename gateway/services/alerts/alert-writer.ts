import { alertTopic, toAlertJson } from '#domain/alert.ts'
import type { Downlink, PreparedMessage } from '#domain/downlink.ts'
import type { Events } from '#gateway/events.ts'
import { Counter } from '#shared/counter.ts'
import type { Clock } from '#shared/time.ts'
import { ALERT_KINDS } from '#shared/wire/alert-kinds.ts'
import type { Store } from '#store/store.ts'
import type { AlertsChange, ClosedDay, SavedAlert, StoredAlert } from '#store/tables/alerts.ts'
import { publishWith } from '../downlink.ts'
import type { Findings, FoundChange } from './findings.ts'
import type { OpenAlerts } from './open-alerts.ts'

interface AlertWriterDeps {
  store: Pick<Store, 'read' | 'write'>
  downlink: Pick<Downlink, 'prepare'>
  events: Pick<Events, 'emit'>
  clock: Clock
  book: OpenAlerts
}

/** Writes changes; calls `onWritten` with the saved alerts once they are on the disk. */
export type SaveAlerts = (input: AlertsChange, onWritten: (saved: readonly SavedAlert[]) => void) => Promise<unknown>

/** Most changes in one transaction: each may add 40 rows, one per subscribed session, and long ones delay messages. */
const MOST_IN_ONE = 50

/** Writes changes of alerts with their retained messages, then publishes them: clients never read unstored state. */
export class AlertWriter {
  /** Alerts opened since the start, by kind. */
  readonly opened = new Counter(ALERT_KINDS)
  readonly #deps: AlertWriterDeps
  /** Topics whose retained message differs from the stored alerts. */
  readonly #unpublished = new Set<string>()

  constructor(deps: AlertWriterDeps) {
    this.#deps = deps
  }

  /** Finds the retained messages that differ from the alerts in `OpenAlerts`. */
  load(): void {
    const { book, store } = this.#deps
    const right = new Map(book.notClosed().map((alert) => [topicOf(alert), payloadOf(alert)]))
    const kept = new Map(
      store.read.alertMessages().map(({ topic, payload }) => [topic, Buffer.from(payload).toString()]),
    )
    for (const topic of new Set([...right.keys(), ...kept.keys()]))
      if (right.get(topic) !== kept.get(topic)) this.#unpublished.add(topic)
  }

  get hasUnpublished(): boolean {
    return this.#unpublished.size > 0
  }

  /**
   * Saves everything in one transaction, or in several above `MOST_IN_ONE` changes. `write` may add other rows to it.
   * Throws `store_unavailable`.
   */
  async save(
    { changes, ended, idleCallSeqs }: Findings,
    closedDay: ClosedDay | null,
    write: SaveAlerts = this.#write,
  ): Promise<void> {
    let from = 0
    do {
      const some = changes.slice(from, from + MOST_IN_ONE)
      from += MOST_IN_ONE
      const isLast = from >= changes.length
      const rest = isLast ? { ended, idleCallSeqs, closedDay } : { ended: [], idleCallSeqs: [], closedDay: null }
      await this.#saveSome({ changes: some, ...rest }, write)
      // lets other pending work run between two transactions
      if (!isLast) await new Promise(setImmediate)
    } while (from < changes.length)
  }

  readonly #write: SaveAlerts = (input, onWritten) => this.#deps.store.write('saveAlerts', input, onWritten)

  async #saveSome(
    { changes, ended, idleCallSeqs, closedDay }: Findings & { closedDay: ClosedDay | null },
    write: SaveAlerts,
  ): Promise<void> {
    const { clock, book } = this.#deps
    const shown = new Shown(book)
    const prepared = changes.map((change) => ({ change, messages: this.#prepare(shown.after(change)) }))
    const topics = [...this.#unpublished]
    const unpublished = topics.flatMap((topic) => this.#prepare(shown.at(topic)))
    await publishWith([...prepared.flatMap(({ messages }) => messages), ...unpublished], (_, commit) => {
      const input: AlertsChange = {
        changes: prepared.map(({ change, messages }) => ({
          ...change,
          sessionChanges: messages.flatMap(({ changes }) => changes),
        })),
        endedIds: ended.map(({ alertId }) => alertId),
        idleCallSeqs,
        sessionChanges: unpublished.flatMap(({ changes }) => changes),
        closedDay,
        nowMs: clock.nowMs(),
      }
      return write(input, (saved) => {
        for (const topic of topics) this.#unpublished.delete(topic)
        for (const alert of ended) book.ended(alert)
        for (const one of saved) this.#took(one)
        commit()
        for (const { event, alert, isNew } of saved)
          if (isNew) this.#deps.events.emit('alertChanged', { event, alert, atMs: input.nowMs })
      })
    })
  }

  #took({ event, alert, isNew }: SavedAlert): void {
    this.#deps.book.put(alert)
    if (!isNew) this.#unpublished.add(topicOf(alert))
    else if (event === 'opened') this.opened.add(alert.kind)
  }

  #prepare(message: Message | null): PreparedMessage[] {
    return message === null ? [] : [this.#deps.downlink.prepare({ ...message, isRetained: true })]
  }
}

/** Retained messages of alert topics while changes are prepared one after the other. */
class Shown {
  readonly #book: OpenAlerts
  /** Prepared alerts, keyed by topic, then by id. */
  readonly #changed = new Map<string, Map<string, StoredAlert>>()

  constructor(book: OpenAlerts) {
    this.#book = book
  }

  /**
   * Returns the message after a change: the alert while it is open; after its closing, the newest other open alert of
   * its topic or an empty message. Null if a change to a closed alert leaves the topic as it is.
   */
  after({ event, alert }: FoundChange): Message | null {
    const topic = topicOf(alert)
    const changed = this.#changed.get(topic) ?? new Map<string, StoredAlert>()
    this.#changed.set(topic, changed.set(alert.alertId, alert))
    if (alert.closedAtMs === null) return { topic, payload: payloadOf(alert) }
    return event === 'closed' ? this.#newest(topic, this.#book.ofCart(alert.cart)) : null
  }

  at(topic: string): Message {
    return this.#newest(topic, this.#book.notClosed())
  }

  #newest(topic: string, known: readonly StoredAlert[]): Message {
    const changed = this.#changed.get(topic)
    const same = known.filter(({ alertId }) => changed?.has(alertId) !== true)
    const open = [...same, ...(changed?.values() ?? [])]
      .filter((alert) => alert.closedAtMs === null && topicOf(alert) === topic)
      .sort((a, b) => a.openedAtMs - b.openedAtMs)
      .at(-1)
    return { topic, payload: open === undefined ? '' : payloadOf(open) }
  }
}

interface Message {
  topic: string
  payload: string
}

function topicOf({ kind, cart }: StoredAlert): string {
  return alertTopic(kind, cart)
}

function payloadOf(alert: StoredAlert): string {
  return JSON.stringify(toAlertJson(alert))
}
