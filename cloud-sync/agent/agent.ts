import { setTimeout as wait } from 'node:timers/promises'
import { isOff } from '#shared/clock-offset.ts'
import { Counter } from '#shared/counter.ts'
import { ConflictError, UnavailableError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import type { IntentInboxPort, LatestStatesPort, SyncSourcePort } from '#shared/sync-source.ts'
import type { SyncStatus } from '#shared/sync-status.ts'
import { SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import type { SyncFileReceipt } from '#shared/wire/replication/sync-file.ts'
import { Auditor } from './audit.ts'
import { type AuditScope, FULL_SCOPE } from './audit-plan.ts'
import { LONGEST_BACKOFF_MS } from './backoff.ts'
import { Cursors } from './cursors.ts'
import { exportLines } from './export.ts'
import { HubClock } from './hub-clock.ts'
import { Intents } from './intents.ts'
import { LatestLane } from './latest-lane.ts'
import { type AgentClock, Link } from './link.ts'
import { Loop } from './loop.ts'
import { Monitor } from './monitor.ts'
import { Priorities } from './priorities.ts'
import { Progress } from './progress.ts'
import { explain, type Situation, stateOf } from './state.ts'
import { type LaneOptions, StreamLane } from './stream-lane.ts'
import { StreamSender } from './stream-sender.ts'
import { Upstream, type UpstreamOptions } from './upstream.ts'

export interface AgentOptions {
  readonly source: SyncSourcePort
  /** If missing, the agent does not request intents from the hub. */
  readonly inbox?: IntentInboxPort
  readonly latest: LatestStatesPort
  readonly upstream: UpstreamOptions
  readonly site: string
  /** Delay of the newest samples, so that a request carries more of them; `HELD` by default. */
  readonly holdMs?: number
  /** Maximum delay between two attempts while the hub does not respond. */
  readonly longestBackoffMs?: number
  /** Folder of the side files, next to the database; undefined if the database does not outlive the process. */
  readonly dataDir: string | undefined
  /** Name and version of this program. */
  readonly program: string
  readonly clock: AgentClock
  readonly log: Log
  /** Reason, as text for staff, why no data may leave this gateway until an admin decides; null if data may leave. */
  readonly heldBy?: () => string | null
  /** True while devices wait for the disk. */
  readonly isBusy: () => boolean
  /** Replaces the random number generator; returns 0 to 1. */
  readonly random?: () => number
}

const FAILURES = ['network', 'timeout', 'busy', 'unavailable', 'bad_answer', 'refused', 'rejected', 'too_large']

const NOT_HELD = { ms: 0, positions: 1 }
/** With this hold 95 % of samples reach the hub within ten seconds; more than 20,000 positions compress no better. */
const HELD = { ms: 6_500, positions: 20_000 }
/** Carts cross zones all the time: sent singly, each event would cost a request and a transaction on both sides. */
const HELD_EVENTS = { ms: 5_000, positions: 500 }
const ROWS = 20_000
const COUNT_TIMEOUT_MS = 2_000

/**
 * Replicates a gateway to the hub: live data first, then the backlog, then rows that an audit finds missing at the hub.
 * Data counts as sent only when the hub has acknowledged it.
 */
export class SyncAgent implements Component {
  readonly failures = new Counter(FAILURES)
  /** Bytes sent, by kind of request. */
  readonly sentBytes: Counter
  /** The loops, for tests that run single steps without timers. */
  readonly loops: Readonly<
    Record<'link' | 'events' | 'latest' | 'telemetry' | 'history' | 'intents' | 'audit' | 'monitor', Loop>
  >
  readonly #options: AgentOptions
  readonly #upstream: Upstream
  readonly #hubClock: HubClock
  readonly #cursors: Cursors
  readonly #link: Link
  readonly #monitor: Monitor
  readonly #auditor: Auditor
  readonly #progress: Progress
  readonly #senders: readonly StreamSender[]
  readonly #lanes: readonly StreamLane[]
  readonly #states: LatestLane
  #isStarted = false
  #isLoaded = false

  constructor(options: AgentOptions) {
    const { source, inbox, latest, site, dataDir, program, clock, log, isBusy } = options
    const { random = Math.random, holdMs = HELD.ms, longestBackoffMs = LONGEST_BACKOFF_MS } = options
    const { heldBy = () => null } = options
    const { failures } = this
    this.#options = options
    const hubClock = new HubClock(clock)
    const upstream = new Upstream(options.upstream, hubClock)
    const progress = new Progress(clock)
    const onAcked = progress.add.bind(progress)
    const onDoubt = () => this.#auditor.requestEverything()
    const cursors = new Cursors({ source, site, dataDir, log, onAcked, onWentBack: onDoubt })
    const link = new Link({
      source,
      upstream,
      cursors,
      site,
      program,
      clock,
      random,
      log,
      failures,
      longestBackoffMs,
      heldBy,
      onUp: () => this.#begin(),
      onDown: () => this.loops.link.wake(),
      onDoubt,
    })
    const senders = SYNC_STREAMS.map((stream) => new StreamSender(stream, clock, random, longestBackoffMs))
    const priorities = new Priorities()
    const monitor = new Monitor({ source, cursors, link, progress, senders, clock, hubClock, log })
    const onIntents = () => this.loops.intents.wake()
    const onReceived = () => this.loops.events.wake()
    const common = { source, upstream, cursors, link, priorities, clock, onIntents }
    const lane = (streams: readonly string[], laneOptions: Omit<LaneOptions, 'senders' | 'rows'>) =>
      new StreamLane(
        { ...common, log, isBusy },
        { ...laneOptions, rows: ROWS, senders: senders.filter(({ stream }) => streams.includes(stream)) },
      )
    const events = lane(['notes', 'lock_events', 'geofence_events', 'entities'], {
      priority: 0,
      density: 'loose',
      hold: NOT_HELD,
      keepsInterval: false,
      isBacklog: false,
      holds: { geofence_events: HELD_EVENTS },
    })
    const telemetry = lane(['telemetry'], {
      priority: 2,
      density: 'loose',
      hold: { ...HELD, ms: holdMs },
      keepsInterval: true,
      isBacklog: false,
    })
    const history = lane(['history'], {
      priority: 3,
      density: 'dense',
      hold: NOT_HELD,
      keepsInterval: true,
      isBacklog: true,
    })
    const states = new LatestLane({
      ...common,
      latest,
      backlog: () => monitor.total,
      unconfirmedRows: () => this.#unconfirmedRows,
    })
    const auditor = new Auditor({
      source,
      upstream,
      cursors,
      link,
      priorities,
      clock,
      random,
      dataDir,
      log,
      isDrained: () => monitor.isDrained,
      flush: (signal) => this.flush(signal),
    })
    const intents =
      inbox === undefined
        ? { step: async () => Number.POSITIVE_INFINITY }
        : new Intents({ inbox, upstream, cursors, link, clock, hubClock, random, failures, onReceived })
    const loop = (name: string, part: { step(signal: AbortSignal): Promise<number> }) =>
      new Loop({ name, random, log, step: (signal) => part.step(signal) })
    this.loops = {
      link: loop('link', {
        step: async (signal) => {
          if (!this.#isLoaded) await this.#load()
          return link.step(signal)
        },
      }),
      events: loop('events', events),
      latest: loop('latest', states),
      telemetry: loop('telemetry', telemetry),
      history: loop('history', history),
      intents: loop('intents', intents),
      audit: loop('audit', auditor),
      monitor: loop('monitor', monitor),
    }
    this.#upstream = upstream
    this.#hubClock = hubClock
    this.sentBytes = upstream.sentBytes
    this.#cursors = cursors
    this.#link = link
    this.#monitor = monitor
    this.#auditor = auditor
    this.#progress = progress
    this.#senders = senders
    this.#lanes = [events, telemetry, history]
    this.#states = states
  }

  async start(): Promise<void> {
    this.#isStarted = true
    for (const loop of Object.values(this.loops)) loop.start()
  }

  /** Aborts open requests; the hello at the next start shows which of them the hub applied. */
  async stop(): Promise<void> {
    this.#upstream.close()
    if (this.#isStarted) {
      this.#isStarted = false
      await Promise.all(Object.values(this.loops).map((loop) => loop.stop()))
      if (this.#isLoaded) await this.#cursors.save()
    }
    await this.#cursors.close()
  }

  /** Loads cursors and audits; nothing is sent before this. */
  async #load(): Promise<void> {
    await this.#auditor.load()
    const isOlder = await this.#cursors.load()
    if (isOlder)
      await this.#link.fork('restored from a backup: the gateway had already sent newer data than this database has')
    this.#isLoaded = true
  }

  /** Called when there is new data to send. */
  wake(): void {
    this.loops.events.wake()
    this.loops.latest.wake()
  }

  /** Called when an admin has decided that data may leave this gateway. */
  letGo(): void {
    this.loops.link.wake()
  }

  /** Sends all data up to now, including held data; ends when no cursor moves any more. Later data can wait. */
  async flush(signal: AbortSignal): Promise<void> {
    const { events, telemetry, history } = this.loops
    const ends = this.#options.source.ends()
    const isSent = () => SYNC_STREAMS.every((stream) => this.#cursors.at(stream).seq >= ends[stream])
    while (!signal.aborted && !isSent()) {
      const { acked } = this.#cursors.known
      for (const lane of this.#lanes) lane.hurry()
      await Promise.all([events.runOnce(), telemetry.runOnce(), history.runOnce()])
      const hasMoved = acked !== this.#cursors.known.acked
      const pauseMs = Math.max(...this.#lanes.map((lane) => lane.intervalMs))
      if (!hasMoved && pauseMs === 0) return
      await wait(pauseMs, undefined, { signal }).catch(() => undefined)
    }
  }

  /** Compares `scope` with the hub (everything by default) as soon as the backlog has been sent. */
  async audit(scope: AuditScope = FULL_SCOPE): Promise<void> {
    await this.#auditor.request(scope)
    this.loops.audit.wake()
  }

  /** True if the hub may lack data that it acknowledged: it lost data, or the first audit is still pending. */
  get mayLack(): boolean {
    return !this.#isLoaded || this.#auditor.isEverythingWanted
  }

  /** Returns all unacknowledged data as the lines of a file that is carried to the hub. */
  async *exportLines(signal: AbortSignal): AsyncGenerator<string> {
    const { source, site, program, clock, latest } = this.#options
    await this.#requireOurs()
    await source.queueAll()
    const devices = latest
      .hardwareIds()
      .map((hardwareId) => latest.deviceJson(hardwareId))
      .filter((device) => device !== undefined)
    yield* exportLines(source, {
      site,
      program,
      nowMs: clock.nowMs(),
      signal,
      devices,
      onExported: (ranges) => this.#cursors.sending(ranges),
    })
  }

  /** Applies the hub's receipt. Throws `unknown_receipt` unless its file was written here and read to its end. */
  async takeReceipt({ site, epoch, cursors }: SyncFileReceipt): Promise<void> {
    await this.#requireOurs()
    const { source } = this.#options
    const isOurs = site === this.#options.site && epoch === source.identity().epoch
    if (!isOurs || !(await this.#cursors.isReconciled(cursors)))
      throw new ConflictError('unknown_receipt', 'this receipt does not belong to the last export file of this gateway')
  }

  /** Waits until the database belongs to a site and the gateway to its machine; nothing leaves the gateway before. */
  async #requireOurs(): Promise<void> {
    const { source, site, heldBy } = this.#options
    const held = heldBy?.() ?? null
    if (held !== null) throw new ConflictError('other_machine', held)
    if (!this.#isLoaded) throw new UnavailableError('replication is still starting; try again in a moment')
    const { site: claimed } = source.identity()
    if (claimed === null) await source.claim(site)
    else if (claimed !== site) throw new ConflictError('other_site', `this database already belongs to site ${claimed}`)
  }

  /** Like `status`, with rows counted now; counts that take too long are reported as unknown. */
  async countedStatus(): Promise<SyncStatus> {
    try {
      await this.#monitor.recount(AbortSignal.timeout(COUNT_TIMEOUT_MS))
      return this.status
    } catch {
      const { status } = this
      const streams = status.streams.map((stream) => ({
        ...stream,
        waitingRows: stream.waitingRows === 0 ? 0 : null,
      }))
      return { ...status, streams }
    }
  }

  /** The number of waiting rows is from the last count. */
  get status(): SyncStatus {
    const { source, site } = this.#options
    const { backlog, total } = this.#monitor
    const situation = this.#situation()
    const state = stateOf(situation)
    const { rowsPerSecond } = this.#progress
    const { epoch, forkedFrom } = source.identity()
    const troubles = new Map(this.#senders.map(({ stream, trouble }) => [stream, trouble?.detail ?? null]))
    return {
      state,
      explanation: explain(state, situation),
      site,
      epoch,
      forkedFrom,
      rowsPerSecond,
      host: this.#upstream.host,
      lastContactMs: this.#link.lastContactMs,
      lastError: this.#link.lastError,
      retryInMs: this.#link.state === 'up' ? null : this.#link.retryInMs,
      warnings: [...this.#link.warnings, ...(isOff(this.#hubClock.offsetMs) ? (['clock'] as const) : [])],
      clockOffsetMs: this.#hubClock.offsetMs,
      streams: SYNC_STREAMS.map((stream) => ({
        stream,
        ackedSeq: this.#cursors.at(stream).seq,
        ackedRows: this.#progress.rowsOf(stream),
        waitingRows: this.#monitor.waitingRows(stream),
        oldestMs: backlog[stream].oldestMs,
        trouble: troubles.get(stream) ?? null,
      })),
      sentBytes: this.sentBytes.entries().reduce((sum, [, bytes]) => sum + bytes, 0),
      ackedRows: this.#progress.rows,
      timeToGoMs: total.rows === 0 || rowsPerSecond === 0 ? null : Math.round((total.rows * 1000) / rowsPerSecond),
      audit: {
        state: this.#auditor.state,
        unconfirmedRows: this.#auditor.unconfirmedRows,
        last: this.#auditor.last,
      },
    }
  }

  /** Covers all data; rows missing from a requested day are in the result of its audit. */
  get #unconfirmedRows(): number | null {
    return this.mayLack ? this.#auditor.unconfirmedRows : 0
  }

  #situation(): Situation {
    const { source, site } = this.#options
    return {
      link: this.#link.state,
      detail: this.#link.detail,
      host: this.#upstream.host,
      site,
      identity: source.identity(),
      warnings: this.#link.warnings,
      backlog: this.#monitor.backlog,
      stuck: this.#monitor.stuck,
      troubles: this.#senders.flatMap(({ stream, trouble }) => (trouble === null ? [] : [{ stream, ...trouble }])),
      isLive: this.#monitor.isLive,
      isCounted: this.#monitor.isCounted,
      unconfirmedRows: this.#unconfirmedRows,
      clockOffsetMs: this.#hubClock.offsetMs,
    }
  }

  #begin(): void {
    this.#states.begin()
    for (const loop of Object.values(this.loops)) loop.wake()
  }
}
