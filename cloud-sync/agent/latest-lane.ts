import type { LatestStatesPort, StreamBacklog, SyncSourcePort } from '#shared/sync-source.ts'
import { SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import type { Cursors } from './cursors.ts'
import type { AgentClock, Link } from './link.ts'
import type { Priorities } from './priorities.ts'
import { statePages } from './state-pages.ts'
import type { Upstream } from './upstream.ts'

interface LatestLaneDeps {
  readonly source: SyncSourcePort
  readonly latest: LatestStatesPort
  readonly upstream: Upstream
  readonly cursors: Cursors
  readonly link: Link
  readonly priorities: Priorities
  readonly clock: AgentClock
  readonly backlog: () => StreamBacklog
  /** Acknowledged rows that the hub may have lost; null while they are not counted. */
  readonly unconfirmedRows: () => number | null
  readonly onIntents: () => void
}

const FIRST_PRIORITY = 0
const PRIORITY = 1
const CHECK_MS = 1_000
/** Interval at which this gateway reports to the hub when nothing changes. */
const TICK_MS = 30_000
/** Interval at which all states are sent, in case a change was not announced. */
const ALL_MS = 900_000
const ENVELOPE_BYTES = 1_024

/** Sends the states of devices: all of them first when the link comes up, then those that changed. */
export class LatestLane {
  readonly #deps: LatestLaneDeps
  readonly #unsent = new Set<string>()
  #isAllUnsent = true
  #isFirst = true
  #sentAtMs = Number.NEGATIVE_INFINITY
  #sentAllAtMs = Number.NEGATIVE_INFINITY

  constructor(deps: LatestLaneDeps) {
    this.#deps = deps
  }

  /** Called when the link is up: the hub may have missed any change. */
  begin(): void {
    this.#isFirst = true
    this.#isAllUnsent = true
    this.#sentAtMs = Number.NEGATIVE_INFINITY
  }

  async step(signal: AbortSignal): Promise<number> {
    const { link, clock, priorities } = this.#deps
    if (link.holdMs > 0) return link.holdMs
    const waitMs = this.#sentAtMs + link.limits.latest_interval_ms - clock.monotonicMs()
    if (waitMs > 0) return waitMs
    this.#collect()
    if (clock.monotonicMs() - this.#sentAllAtMs >= ALL_MS) this.#isAllUnsent = true
    const isSilent = clock.monotonicMs() - this.#sentAtMs >= TICK_MS
    if (!this.#isAllUnsent && this.#unsent.size === 0 && !isSilent) return CHECK_MS
    const priority = this.#isFirst ? FIRST_PRIORITY : PRIORITY
    return priorities.run(priority, signal, async () => {
      if (link.holdMs > 0) return link.holdMs
      await this.#send(signal)
      return link.limits.latest_interval_ms
    })
  }

  #collect(): void {
    const changed = this.#deps.latest.takeChanged()
    if (changed === null) this.#isAllUnsent = true
    else for (const hardwareId of changed) this.#unsent.add(hardwareId)
  }

  async #send(signal: AbortSignal): Promise<void> {
    const { latest, link, clock } = this.#deps
    this.#collect()
    const isAll = this.#isAllUnsent
    const hardwareIds = isAll ? latest.hardwareIds() : [...this.#unsent]
    this.#isAllUnsent = false
    this.#unsent.clear()
    const states = hardwareIds.map((id) => latest.deviceJson(id)).filter((state) => state !== undefined)
    const pages = [...statePages(states, link.limits.body_bytes - ENVELOPE_BYTES)]
    for (const devices of pages) {
      if (await this.#sendPage(devices, isAll && pages.length === 1, signal)) continue
      // some pages may have arrived; the newest states of all these devices are sent again
      if (isAll) this.#isAllUnsent = true
      else for (const hardwareId of hardwareIds) this.#unsent.add(hardwareId)
      if (link.state === 'up') this.#sentAtMs = clock.monotonicMs()
      return
    }
    this.#isFirst = false
    this.#sentAtMs = clock.monotonicMs()
    if (isAll) this.#sentAllAtMs = this.#sentAtMs
  }

  async #sendPage(devices: Record<string, unknown>[], isComplete: boolean, signal: AbortSignal): Promise<boolean> {
    const { source, upstream, cursors, link, clock, backlog, unconfirmedRows, onIntents } = this.#deps
    const asked = cursors.known
    const { rows, oldestMs } = backlog()
    const outcome = await upstream.latest(
      {
        epoch: source.identity().epoch,
        instance: link.instance,
        at_ms: clock.nowMs(),
        is_complete: isComplete,
        devices,
        backlog: {
          rows,
          oldest_ms: oldestMs,
          unconfirmed_rows: unconfirmedRows(),
          acked: Object.fromEntries(SYNC_STREAMS.map((stream) => [stream, asked.acked[stream].seq])),
        },
      },
      signal,
    )
    if (signal.aborted) return false
    if (outcome.kind !== 'ok') {
      await link.failed(outcome, asked)
      return false
    }
    link.succeeded(outcome.answer)
    if (outcome.answer.intents_waiting) onIntents()
    return true
  }
}
