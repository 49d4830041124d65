import type { Caller } from '#domain/access.ts'
import { isFinal } from '#domain/commands.ts'
import type { Events } from '#gateway/events.ts'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { ConflictError, DamagedError, describeError, NotFoundError } from '#shared/errors.ts'
import { newUuid } from '#shared/ids.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import type { SiteSettings } from '#shared/site/settings.ts'
import { type Clock, DAY_MS, type MonotonicClock } from '#shared/time.ts'
import type { CommandStatus } from '#shared/wire/commands.ts'
import type { ScreenState } from '#shared/wire/recall.ts'
import type { Store } from '#store/store.ts'
import type { RecallRow } from '#store/tables/recall.ts'
import type { Commands } from '../commands/commands.ts'
import type { CommandDelivery } from '../commands/delivery.ts'
import type { DeviceTypeLookup } from '../commands/request.ts'
import type { Device, Fleet } from '../fleet.ts'
import type { Site } from '../site.ts'
import { isScreen, MESSAGE, screenStateOf } from './screens.ts'

interface SentMessage {
  hardwareId: string
  status: CommandStatus | null
}

/** Messages sent to the screens of a recall, and the screens that have confirmed it. */
class RecallScreens {
  readonly #byCommand = new Map<string, SentMessage>()
  /** Newest message to each screen. */
  readonly #newest = new Map<string, SentMessage>()
  readonly #confirmed = new Set<string>()

  /** Records a stored message to a screen. */
  sent(commandId: string, hardwareId: string, status: CommandStatus | null): void {
    const message = { hardwareId, status }
    this.#byCommand.set(commandId, message)
    this.#newest.set(hardwareId, message)
    if (status === 'completed') this.#confirmed.add(hardwareId)
  }

  /** Records a new state of a command. Returns the screen that confirmed the recall by it, once; otherwise null. */
  moved(commandId: string, status: CommandStatus): string | null {
    const message = this.#byCommand.get(commandId)
    if (message === undefined) return null
    message.status = status
    if (isFinal(status)) this.#byCommand.delete(commandId)
    if (status !== 'completed' || this.#confirmed.has(message.hardwareId)) return null
    this.#confirmed.add(message.hardwareId)
    return message.hardwareId
  }

  forget(hardwareId: string): void {
    this.#newest.delete(hardwareId)
    this.#confirmed.delete(hardwareId)
  }

  /** Screens to which a message was sent. */
  get hardwareIds(): readonly string[] {
    return [...this.#newest.keys()]
  }

  wasSent(hardwareId: string): boolean {
    return this.#newest.has(hardwareId)
  }

  isConfirmed(hardwareId: string): boolean {
    return this.#confirmed.has(hardwareId)
  }

  /** True if a message is pending; it is sent again when the screen reconnects. */
  isAwaiting(hardwareId: string): boolean {
    const status = this.#newest.get(hardwareId)?.status
    return status === 'pending' || status === 'published'
  }
}

interface RecallTexts {
  /** Text of the call to return all carts. */
  start: string
  end: string
}

/** Default texts on screens, by the language of the site. */
const RECALL_TEXTS: Record<SiteSettings['language'], RecallTexts> = {
  en: { start: 'All carts in: please return to the clubhouse now.', end: 'Recall ended.' },
  de: { start: 'Alle Carts zurück: Bitte jetzt zum Clubhaus kommen.', end: 'Rückruf beendet.' },
}

interface RecallDeps {
  store: Pick<Store, 'read' | 'write'>
  fleet: Pick<Fleet, 'all' | 'byHardwareId'>
  deviceTypes: DeviceTypeLookup
  commands: Pick<Commands, 'createForEach'>
  delivery: Pick<CommandDelivery, 'mark' | 'take'>
  site: Pick<Site, 'settings'>
  events: Events
  clock: Clock & MonotonicClock
  log: Log
}

type Due = 'start' | 'end'

/** An offline screen gets the message when it reconnects within a day. */
const TTL_S = DAY_MS / 1000
/** Messages per transaction, so that other writes run in between. */
const BATCH = 25
const RETRY_MS = 1_000

/**
 * Recall of all carts: sends every screen in scope a command `message`, again whenever the screen reconnects, until the
 * recall ends; then sends its end. The messages are stored with their commands, so that a restart, even after a power
 * cut, continues where the last run stopped.
 */
export class Recall implements Component {
  readonly #deps: RecallDeps
  readonly #turns = new SerialQueue()
  /** Newest recall, active or ended. */
  #recall: RecallRow | null = null
  #screens = new RecallScreens()
  /** Messages still to be sent, by screen. */
  readonly #due = new Map<string, Due>()
  #isRunning = false
  #hasFailed = false
  #sending: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(deps: RecallDeps) {
    this.#deps = deps
    const { events } = deps
    events.on('deviceReachable', ({ hardwareId }) => this.#cameBack(hardwareId))
    events.on('deviceRemoved', ({ hardwareId }) => {
      this.#due.delete(hardwareId)
      this.#screens.forget(hardwareId)
    })
    events.on('commandMoved', ({ command: { commandId, status } }) => {
      const hardwareId = this.#screens.moved(commandId, status)
      if (hardwareId !== null && this.active !== null) this.#emit('confirmed', this.active, hardwareId)
    })
  }

  async start(): Promise<void> {
    this.#isRunning = true
    const known = this.#deps.store.read.lastRecall()
    if (known === null) return
    this.#recall = known.recall
    const ended = new Set<string>()
    for (const { commandId, hardwareId, isEnd } of known.messages) {
      const status = this.#statusOf(commandId)
      if (isEnd && status !== null) ended.add(hardwareId)
      // a message that may not have been sent is sent again
      else if (!isEnd && (status !== null || this.active === null)) this.#screens.sent(commandId, hardwareId, status)
    }
    const missing = this.active === null ? this.#screens.hardwareIds : this.#screensInScope()
    for (const hardwareId of missing) {
      if (this.active === null && !ended.has(hardwareId)) this.#due.set(hardwareId, 'end')
      if (this.active !== null && !this.#screens.wasSent(hardwareId)) this.#due.set(hardwareId, 'start')
    }
    this.#sendSoon()
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    clearTimeout(this.#timer)
    await this.#turns.idle()
    await this.#sending
  }

  get active(): RecallRow | null {
    return this.#recall?.ended === null ? this.#recall : null
  }

  /** Calls in the devices of `scope`, or all; the default text is in the site's language. Throws `recall_active`. */
  begin(text: string | undefined, by: RecallRow['by'], scope: readonly string[] | null): Promise<RecallRow> {
    const { store, clock, site } = this.#deps
    return this.#turns.take(async () => {
      if (this.active !== null) throw new ConflictError('recall_active', 'a recall is already active; end it first')
      const recall: RecallRow = {
        recallId: newUuid(),
        text: text || RECALL_TEXTS[site.settings.language].start,
        startedAtMs: clock.nowMs(),
        by,
        scope,
        ended: null,
      }
      await store.write('startRecall', recall, () => {
        this.#recall = recall
        this.#screens = new RecallScreens()
        this.#due.clear()
        for (const hardwareId of this.#screensInScope()) this.#due.set(hardwareId, 'start')
      })
      this.#emit('started', recall, null)
      this.#sendSoon()
      return recall
    })
  }

  /** Ends the active recall. Throws `no_recall`. */
  end(text: string | undefined): Promise<RecallRow> {
    const { store, clock, delivery, site } = this.#deps
    return this.#turns.take(async () => {
      const recall = this.active
      if (recall === null) throw new NotFoundError('no_recall', 'no recall is active')
      const ended = { atMs: clock.nowMs(), text: text || RECALL_TEXTS[site.settings.language].end }
      // queued first, so that a message that its screen has received is not superseded
      delivery.mark()
      await store.write('endRecall', { recallId: recall.recallId, ...ended }, (superseded) => {
        this.#recall = { ...recall, ended }
        this.#due.clear()
        for (const hardwareId of this.#screens.hardwareIds) this.#due.set(hardwareId, 'end')
        delivery.take([], superseded, clock.monotonicMs())
      })
      this.#emit('ended', recall, null)
      this.#sendSoon()
      return recall
    })
  }

  isFor(hardwareId: string): boolean {
    return this.active !== null && this.#isInScope(hardwareId)
  }

  /** Returns the progress of the recall on a cart, from those of its devices in scope. */
  screenOf(devices: readonly Device[]): ScreenState {
    const { deviceTypes } = this.#deps
    const screens = devices.filter((device) => isScreen(deviceTypes, device) && this.#isInScope(device.row.hardwareId))
    return screenStateOf(
      screens.map(({ row: { hardwareId }, isOnline }) => ({
        isConfirmed: this.#screens.isConfirmed(hardwareId),
        isReached: isOnline,
      })),
    )
  }

  /** Returns null for a command that was withdrawn, or whose row is damaged. */
  #statusOf(commandId: string): CommandStatus | null {
    try {
      return this.#deps.store.read.command(commandId)?.status ?? null
    } catch (error) {
      if (error instanceof DamagedError) return null
      throw error
    }
  }

  #cameBack(hardwareId: string): void {
    if (this.active === null || !this.#isRunning) return
    const device = this.#deps.fleet.byHardwareId(hardwareId)
    if (device === undefined || !isScreen(this.#deps.deviceTypes, device) || !this.#isInScope(hardwareId)) return
    // a pending message is sent again automatically
    if (this.#screens.isAwaiting(hardwareId)) return
    this.#due.set(hardwareId, 'start')
    this.#sendSoon()
  }

  #screensInScope(): string[] {
    return this.#deps.fleet.all().flatMap((device) => {
      const { hardwareId } = device.row
      return isScreen(this.#deps.deviceTypes, device) && this.#isInScope(hardwareId) ? [hardwareId] : []
    })
  }

  #isInScope(hardwareId: string): boolean {
    const scope = this.#recall?.scope ?? null
    return scope === null || scope.includes(hardwareId)
  }

  #sendSoon(): void {
    if (this.#due.size === 0 || !this.#isRunning) return
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
    })
  }

  async #sendAll(): Promise<void> {
    while (this.#due.size > 0 && this.#isRunning) {
      const kind = this.active === null ? 'end' : 'start'
      const due = [...this.#due].filter(([, what]) => what === kind).slice(0, BATCH)
      if (due.length === 0) return
      const hardwareIds = due.map(([hardwareId]) => hardwareId)
      try {
        await this.#send(kind, hardwareIds)
        this.#hasFailed = false
      } catch (error) {
        // the recall ended or a screen was removed meanwhile: other messages are due now
        if (error instanceof NotFoundError) continue
        if (!this.#hasFailed)
          this.#deps.log.warn(
            { reason: describeError(error) },
            'sending a recall to screens failed; will retry every second',
          )
        this.#hasFailed = true
        this.#timer = setTimeout(() => this.#sendSoon(), RETRY_MS)
        return
      }
    }
  }

  async #send(kind: Due, hardwareIds: readonly string[]): Promise<void> {
    const recall = this.#recall
    if (recall === null) return
    const { recallId } = recall
    const isEnd = kind === 'end'
    const text = isEnd ? (recall.ended?.text ?? '') : recall.text
    const request = { command: MESSAGE, params: { text, recall: !isEnd }, metadata: null, ttlS: TTL_S }
    const done = () => {
      for (const hardwareId of hardwareIds)
        if (this.#due.get(hardwareId) === kind && this.#recall?.recallId === recallId) this.#due.delete(hardwareId)
    }
    const { commands } = await this.#deps.commands.createForEach(hardwareIds, request, {
      caller: callerOf(recall),
      also: (rows) => ({
        name: 'noteRecallMessages',
        input: {
          recallId,
          messages: rows.map(({ commandId, hardwareId }) => ({ commandId, hardwareId, isEnd })),
        },
      }),
      onWritten: (rows) => {
        done()
        if (isEnd || this.#recall?.recallId !== recallId) return
        for (const { commandId, hardwareId, status } of rows) this.#screens.sent(commandId, hardwareId, status)
      },
    })
    // some were removed, or have too many open commands
    if (commands.length < hardwareIds.length) done()
  }

  #emit(event: 'started' | 'confirmed' | 'ended', recall: RecallRow, hardwareId: string | null): void {
    this.#deps.events.emit('recallChanged', { event, recall, hardwareId, atMs: this.#deps.clock.nowMs() })
  }
}

/** Returns a caller with the starter's id and access to all devices: a later loss of access changes nothing. */
function callerOf({ by }: RecallRow): Caller {
  return { userId: by.userId, role: 'staff', allowedHardwareIds: new Set(['*']) }
}
