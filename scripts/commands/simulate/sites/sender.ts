import { randomBytes } from 'node:crypto'
import { Backoff } from '#agent/backoff.ts'
import type { Failure } from '#agent/outcome.ts'
import { toSyncPart } from '#agent/stream-sender.ts'
import type { Upstream } from '#agent/upstream.ts'
import { newUuid } from '#shared/ids.ts'
import type { Clock } from '#shared/time.ts'
import { type Hello, NO_CURSOR, SYNC_PROTOCOL, type SyncCursor, type SyncLimits } from '#shared/wire/sync.ts'
import type { SiteDevices } from './carts.ts'
import type { SitesFigures } from './figures.ts'
import type { LogPart, SiteLog } from './log.ts'

export interface SiteSenderDeps {
  readonly siteId: string
  readonly upstream: Upstream
  readonly devices: SiteDevices
  readonly log: SiteLog
  readonly figures: SitesFigures
  readonly clock: Clock
  readonly random: () => number
  /** Between two pushes while the hub keeps up. */
  readonly intervalMs: number
}

/** What a gateway puts into a part, at most. */
const PART_ROWS = 2_000
const LONGEST_BACKOFF_MS = 60_000
const PROGRAM = 'cartbarn simulate'
/** How often the sender looks for states to send. */
const LOOK_MS = 200
const NOTHING_LEFT = Number.POSITIVE_INFINITY

/** Replicates one site as a gateway does: hello, then parts, each behind the last that the hub has, and states. */
export class SiteSender {
  readonly #deps: SiteSenderDeps
  readonly #backoff: Backoff
  readonly #instance = newUuid()
  #epoch = newEpoch()
  #forkedFrom: Hello['forked_from'] = null
  #cursor: SyncCursor = NO_CURSOR
  /** Parts after the cursor that the hub has not acknowledged yet. */
  #attempts: { readonly part: LogPart; readonly hash: string }[] = []
  #limits: SyncLimits | undefined
  #isUp = false
  #isFinishing = false
  #maxRows = PART_ROWS
  #wake: () => void = () => undefined

  constructor(deps: SiteSenderDeps) {
    this.#deps = deps
    this.#backoff = new Backoff(deps.random, { longestMs: LONGEST_BACKOFF_MS })
  }

  get isUp(): boolean {
    return this.#isUp
  }

  /** Sends until `finish`, and then what is left. */
  async run(signal: AbortSignal): Promise<void> {
    const { intervalMs, random } = this.#deps
    const stopping = new AbortController()
    const either = AbortSignal.any([signal, stopping.signal])
    const states = this.#runStates(either)
    // sites do not push in step
    await this.#rest(random() * intervalMs, signal)
    while (!signal.aborted) {
      const waitMs = await this.#step(signal)
      if (waitMs === NOTHING_LEFT) break
      if (waitMs > 0) await delay(waitMs, signal)
    }
    stopping.abort()
    await states
  }

  /** Nothing is measured any more. */
  finish(): void {
    this.#isFinishing = true
    this.#wake()
  }

  /** Does what is due; returns in how many milliseconds to look again. */
  async #step(signal: AbortSignal): Promise<number> {
    if (!this.#isUp) return this.#greet(signal)
    const part = this.#nextPart()
    if (part === null && this.#isFinishing) return NOTHING_LEFT
    if (part !== null) {
      const waitMs = await this.#push(part, signal)
      if (waitMs > 0) return waitMs
      if (this.#isFinishing || this.#deps.log.rows >= this.#maxRows) return this.#limits?.min_interval_ms ?? 0
    }
    await this.#rest(Math.max(this.#deps.intervalMs, this.#limits?.min_interval_ms ?? 0), signal)
    return 0
  }

  async #greet(signal: AbortSignal): Promise<number> {
    const { upstream, clock, log, siteId } = this.#deps
    const outcome = await upstream.hello(
      {
        protocol: SYNC_PROTOCOL,
        site: siteId,
        epoch: this.#epoch,
        instance: this.#instance,
        forked_from: this.#forkedFrom,
        program: PROGRAM,
        clock_ms: clock.nowMs(),
        clock_trusted: true,
        ends: {
          ...{ notes: 0, lock_events: 0, geofence_events: 0, entities: 0 },
          ...{ telemetry: log.end, history: 0 },
        },
      },
      signal,
    )
    if (outcome.kind !== 'ok') return this.#failed(outcome)
    this.#limits = outcome.answer.limits
    this.#isUp = true
    this.#backoff.reset()
    this.#reconcile(outcome.answer.cursors.telemetry)
    return 0
  }

  #nextPart(): LogPart | null {
    for (;;) {
      const part = this.#deps.log.part(this.#maxRows)
      if (part === null || part.data.length <= (this.#limits?.part_bytes ?? 0) || this.#maxRows <= 1)
        return part
      this.#maxRows >>= 1
    }
  }

  /** Returns how long to wait before anything else. */
  async #push(part: LogPart, signal: AbortSignal): Promise<number> {
    const { upstream, figures } = this.#deps
    const wirePart = toSyncPart('telemetry', this.#cursor, {
      ...{ to: part.to, count: part.rows, data: part.data },
      ...{ encoding: 'runs-1', oldestMs: null },
    })
    this.#attempts.push({ part, hash: wirePart.hash })
    const push = { epoch: this.#epoch, instance: this.#instance, parts: [wirePart] }
    const outcome = await upstream.push(push, signal, 'dense')
    if (signal.aborted) return 0
    if (outcome.kind !== 'ok' && outcome.kind !== 'cursor') return this.#failed(outcome)
    this.#backoff.reset()
    if (outcome.kind === 'ok') {
      this.#limits = outcome.answer.limits
      this.#reconcile(outcome.answer.acked.telemetry ?? this.#cursor)
    } else {
      figures.conflicts += 1
      this.#reconcile(outcome.cursors.telemetry)
    }
    return 0
  }

  /** Takes the hub's cursor: where it was, where a part brought it, or further back if the hub has lost something. */
  #reconcile(hub: SyncCursor): void {
    const { log, figures, clock } = this.#deps
    const isOurs = hub.seq === this.#cursor.seq && hub.hash === this.#cursor.hash
    if (isOurs) return
    const taken = this.#attempts.find(({ part, hash }) => part.to === hub.seq && hash === hub.hash)
    if (taken === undefined && hub.seq >= this.#cursor.seq) {
      this.#fork('the hub has what this site never sent')
      return
    }
    if (taken !== undefined) figures.acked(taken.part.rows, taken.part.atMs, clock.nowMs())
    log.forget(hub.seq)
    this.#cursor = hub
    this.#attempts = []
  }

  /** Returns how long to wait. */
  #failed(outcome: Failure | { readonly kind: 'cursor' }): number {
    const { figures } = this.#deps
    switch (outcome.kind) {
      case 'retry':
        if (outcome.reason === 'busy' || outcome.retryAfterMs > 0) figures.busy += 1
        else figures.failed += 1
        if (outcome.reason !== 'busy') this.#isUp = false
        return this.#backoff.nextMs(outcome.retryAfterMs)
      case 'unknown_epoch':
        this.#isUp = false
        return this.#backoff.nextMs()
      case 'ahead':
      case 'foreign_epoch':
      case 'cursor':
        this.#fork(outcome.kind)
        return this.#backoff.nextMs()
      case 'too_large':
        this.#maxRows = Math.max(1, this.#maxRows >> 1)
        this.#refused(outcome.detail)
        return this.#backoff.nextMs()
      case 'refused':
      case 'rejected':
        this.#refused(outcome.detail)
        return this.#backoff.nextMs()
    }
  }

  #refused(detail: string): void {
    const { figures, siteId } = this.#deps
    figures.refused += 1
    figures.lastRefusal = `${siteId}: ${detail}`
  }

  /** Goes on as another database. */
  #fork(reason: string): void {
    this.#forkedFrom = { epoch: this.#epoch, reason }
    this.#epoch = newEpoch()
    this.#cursor = NO_CURSOR
    this.#attempts = []
    this.#isUp = false
    this.#deps.figures.forks += 1
  }

  async #runStates(signal: AbortSignal): Promise<void> {
    const { upstream, devices, log, clock, random } = this.#deps
    let isComplete = true
    let waitMs = random() * this.#deps.intervalMs
    while (!signal.aborted) {
      await delay(waitMs, signal)
      if (signal.aborted) return
      const states = devices.states()
      waitMs = LOOK_MS
      if (!this.#isUp || states.length === 0) continue
      waitMs = this.#limits?.latest_interval_ms ?? LOOK_MS
      const outcome = await upstream.latest(
        {
          ...{ epoch: this.#epoch, instance: this.#instance, at_ms: clock.nowMs() },
          ...{ is_complete: isComplete, devices: states },
          backlog: { rows: log.rows, oldest_ms: log.oldestMs },
        },
        signal,
      )
      if (outcome.kind === 'ok') isComplete = false
      // lossy: the next one is newer. Why it was not taken, the pushes find out too
      else if (outcome.kind === 'retry') waitMs = Math.max(waitMs, outcome.retryAfterMs)
      else if (outcome.kind === 'refused' || outcome.kind === 'rejected') this.#refused(outcome.detail)
    }
  }

  /** Waits for more to send, unless there will be none. */
  async #rest(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#isFinishing) return
    const waking = new AbortController()
    this.#wake = () => waking.abort()
    await delay(ms, AbortSignal.any([signal, waking.signal]))
  }
}

/** Resolves after so long, or when the signal is given. */
function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })
}

function newEpoch(): string {
  return randomBytes(16).toString('hex')
}
