import type { Log } from '../../shared/log.ts'
import { MINUTE_MS } from '../../shared/time.ts'
import { SYNC_STREAMS, type SyncStream } from '../../shared/wire/sync.ts'
import type { AgentClock, Link } from './link.ts'
import type { Progress } from './progress.ts'
import type { StreamBacklog, SyncSource } from './source.ts'
import { hasBacklog } from './state.ts'
import type { StreamSender } from './stream-sender.ts'

interface MonitorDeps {
  readonly source: SyncSource
  readonly link: Link
  readonly progress: Progress
  readonly senders: readonly StreamSender[]
  readonly clock: AgentClock
  readonly log: Log
}

const LOOK_MS = 10_000
const STUCK_MS = 5 * MINUTE_MS
const HEARD_MS = MINUTE_MS

/** Looks now and then at what is waiting, and notices when it waits although the hub answers. */
export class Monitor {
  readonly #deps: MonitorDeps
  #backlog: Record<SyncStream, StreamBacklog> = nothing()
  #isKnown = false
  #stuck: readonly SyncStream[] = []

  constructor(deps: MonitorDeps) {
    this.#deps = deps
  }

  /** What was waiting when it was last looked at. */
  get backlog(): Readonly<Record<SyncStream, StreamBacklog>> {
    return this.#backlog
  }

  get stuck(): readonly SyncStream[] {
    return this.#stuck
  }

  /** All of it: rows, and the oldest of them. */
  get total(): StreamBacklog {
    const all = Object.values(this.#backlog)
    const times = all.flatMap(({ oldestMs }) => (oldestMs === null ? [] : [oldestMs]))
    return {
      rows: all.reduce((sum, { rows }) => sum + rows, 0),
      oldestMs: times.length === 0 ? null : times.reduce((a, b) => Math.min(a, b)),
    }
  }

  /** Whether nothing waits but what has just come. */
  get isDrained(): boolean {
    return this.#isKnown && !hasBacklog({ backlog: this.#backlog, nowMs: this.#deps.clock.nowMs() })
  }

  async step(signal: AbortSignal): Promise<number> {
    this.#backlog = await this.#deps.source.backlog(signal)
    this.#isKnown = true
    this.#watch()
    return LOOK_MS
  }

  #watch(): void {
    const { link, progress, senders, log } = this.#deps
    const isUp = link.state === 'up' && link.heardWithin(HEARD_MS) && link.drainHoldMs <= 0
    const stuck: SyncStream[] = []
    for (const { stream, trouble } of senders) {
      // without a link, or while the hub says what is wrong, nobody need wonder
      if (!isUp || trouble !== null || this.#backlog[stream].rows === 0) progress.moved(stream)
      else if (progress.stillMs(stream) >= STUCK_MS) stuck.push(stream)
    }
    const isNew = stuck.some((stream) => !this.#stuck.includes(stream))
    this.#stuck = stuck
    if (!isNew) return
    log.error(
      { streams: stuck, backlog: this.#backlog },
      'the head office answers, but its cursors do not move',
    )
    link.renew(`nothing moved of ${stuck.join(', ')}`)
  }
}

function nothing(): Record<SyncStream, StreamBacklog> {
  const none = Object.fromEntries(SYNC_STREAMS.map((stream) => [stream, { rows: 0, oldestMs: null }]))
  // of each stream there is one
  return none as Record<SyncStream, StreamBacklog>
}
