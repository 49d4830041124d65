import type { Caller } from '#domain/access.ts'
import { type Alert, toAlertJson } from '#domain/alert.ts'
import type { GatewayEvents } from '#gateway/events.ts'
import { toIso } from '#shared/time.ts'
import type { RealtimeConnection } from './connection.ts'
import { Frame } from './frames.ts'

type AlertChanged = GatewayEvents['alertChanged']

interface AlertNewsDeps {
  alerts: { maySee(caller: Caller, alert: Alert): boolean }
  /** All connections; alerts do not depend on subscriptions. */
  connections: Iterable<RealtimeConnection>
  /** Queues the frames of all earlier messages. */
  settle(): void
}

/** Sends alert changes to all connections that may see them, those of one event-loop tick together, encoded once. */
export class AlertFeed {
  readonly #deps: AlertNewsDeps
  #waiting: AlertChanged[] = []

  constructor(deps: AlertNewsDeps) {
    this.#deps = deps
  }

  publish(changed: AlertChanged): void {
    this.#waiting.push(changed)
    if (this.#waiting.length === 1) setImmediate(() => this.flush())
  }

  /** Sends the waiting changes to all connections that may see them now. */
  flush(): void {
    const { alerts, connections, settle } = this.#deps
    const news = this.#waiting.map((changed) => ({ alert: changed.alert, frame: frameOf(changed) }))
    if (news.length === 0) return
    this.#waiting = []
    settle()
    for (const connection of connections) {
      for (const { alert, frame } of news) if (alerts.maySee(connection.caller, alert)) connection.enqueue(frame)
      connection.flush()
    }
  }
}

function frameOf({ event, alert, atMs }: AlertChanged): Frame {
  const { openedAtMs, acknowledgedAtMs, closedAtMs } = alert
  const times = {
    opened: openedAtMs,
    acknowledged: acknowledgedAtMs,
    closed: closedAtMs,
    repeated: atMs,
    escalated: atMs,
  }
  const timestamp = toIso(times[event] ?? openedAtMs)
  return new Frame({ type: 'alert', event, alert: toAlertJson(alert), timestamp })
}
