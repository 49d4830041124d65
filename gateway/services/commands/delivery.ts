import { setTimeout as pause } from 'node:timers/promises'
import { LOCATE_NAME } from '#devices/commands.ts'
import { advance, FAILURE_REASONS, isFinal, SUPERSEDABLE } from '#domain/commands.ts'
import type { Downlink } from '#domain/downlink.ts'
import type { Events } from '#gateway/events.ts'
import type { FairTurns } from '#shared/budgets/fair-turns.ts'
import { Counter } from '#shared/counter.ts'
import { describeError, UnavailableError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import type { Store } from '#store/store.ts'
import type { CommandRow } from '#store/tables/commands.ts'
import type { GatewayClock } from '../clock/gateway-clock.ts'
import { publishWith } from '../downlink.ts'
import { commandTopic, remainingOf, toCommandMessage } from './command-message.ts'
import type { LockGate } from './lock-gate.ts'
import { PendingLocks } from './pending-locks.ts'
import { shownParams } from './shown-params.ts'
import { type UnfinishedCommand, UnfinishedCommands } from './unfinished.ts'

interface CommandDeliveryDeps {
  store: Pick<Store, 'read' | 'write'>
  downlink: Downlink
  events: Events
  clock: GatewayClock
  /** Queue that requests and sending share: a newer lock must know which older ones have been sent. */
  turns: FairTurns
  gate: LockGate
  log: Log
}

interface Sent {
  command: UnfinishedCommand
  /** Payload for clients that subscribe to the device's commands. */
  shown: string
  atMs: number
}

/** Command of a write that failed without a result, and its treatment if the disk has it anyway. */
interface DoubtfulCommand {
  row: CommandRow
  then: 'withdraw' | 'keep'
}

/** Interval of checks for a changed clock and of repeated writes. */
const CHECK_MS = 1000
const EXPIRED_PER_WRITE = 500
/** Messages passed to the broker in one batch, and the pause after it for responses and other messages. */
const SENT_AT_ONCE = 50
const PAUSE_MS = 40

/**
 * Sends commands to their devices until they respond or the time runs out. The store decides the state of a command
 * (`store/tables/commands.ts`); this class has only unfinished commands, and follows each write.
 */
export class CommandDelivery implements Component {
  /** Commands by outcome, and in addition `resent` and `late_ack`. */
  readonly outcomes = new Counter([
    'created',
    'published',
    'acknowledged',
    'completed',
    'failed',
    'timeout',
    ...FAILURE_REASONS,
    'resent',
    'late_ack',
  ])
  readonly #deps: CommandDeliveryDeps
  readonly #unfinished = new UnfinishedCommands()
  readonly #heldLocks: PendingLocks
  /** Number of connections of each device: a command is sent once on each. */
  readonly #contacts = new Map<string, number>()
  /** Sent, but not yet stored as sent. */
  readonly #unmarked: Sent[] = []
  #marksUnderWay = 0
  readonly #writes = new Set<Promise<unknown>>()
  #doubtful: readonly DoubtfulCommand[] = []
  #timer: NodeJS.Timeout | undefined
  #isRunning = false

  constructor(deps: CommandDeliveryDeps) {
    this.#deps = deps
    this.#heldLocks = new PendingLocks(deps)
  }

  get unfinishedCount(): number {
    return this.#unfinished.size
  }

  unfinishedOf(hardwareId: string): number {
    return this.#unfinished.countOf(hardwareId)
  }

  /** True if a device has not yet responded to this command from this requester. */
  isAsked(hardwareId: string, command: string, by: string): boolean {
    const commands = this.#unfinished.ofDevice(hardwareId)
    return commands.some(({ row }) => row.command === command && row.requestedBy === by)
  }

  /** True if a position request was sent to the device and has no response yet. */
  isLocating(hardwareId: string): boolean {
    if (this.#unfinished.countOf(hardwareId) === 0) return false
    const commands = this.#unfinished.ofDevice(hardwareId)
    return commands.some(({ row, isSent }) => row.command === LOCATE_NAME && isSent)
  }

  async start(): Promise<void> {
    const { store, events } = this.#deps
    this.#isRunning = true
    for (const row of store.read.unfinishedCommands()) this.#restore(row)
    events.on('deviceReachable', ({ hardwareId }) => this.#reached(hardwareId))
    events.on('deviceRemoved', ({ hardwareId }) => this.#removed(hardwareId))
    events.on('commandAnswered', ({ command, outcome }) => {
      if (outcome === 'late') this.outcomes.add('late_ack')
      else this.#follow(command)
    })
    events.on('cartsEvaluated', () => {
      if (!this.#isRunning) return
      for (const hardwareId of this.#heldLocks.decided()) this.#sendAgain(hardwareId)
    })
    this.#schedule()
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    clearTimeout(this.#timer)
    await this.#deps.turns.idle()
    await Promise.all(this.#writes)
  }

  /** Adds stored commands and drops those they superseded. Their time began at `askedAtMs` of the monotonic clock. */
  take(rows: readonly CommandRow[], superseded: readonly CommandRow[], askedAtMs: number): void {
    for (const row of superseded) this.#follow(row)
    for (const row of rows) {
      // includes locks that were sent once and wait to be sent again
      if (SUPERSEDABLE.includes(row.command)) this.#heldLocks.supersede(row.hardwareId)
      this.#unfinished.add(row, askedAtMs + row.ttlS * 1000)
    }
    this.outcomes.add('created', rows.length)
    this.#schedule()
  }

  /** Sends new commands to connected devices, in the same queue slot in which they were stored. */
  async sendNew(rows: readonly CommandRow[]): Promise<void> {
    for (const [i, { commandId }] of rows.entries()) {
      if (i > 0 && i % SENT_AT_ONCE === 0) await pause(PAUSE_MS)
      const command = this.#unfinished.get(commandId)
      if (command !== undefined) this.#send(command)
    }
    this.#settle()
  }

  /** Records commands of a write without a result. Any on the disk are withdrawn if never announced, else added. */
  doubt(rows: readonly CommandRow[], then: DoubtfulCommand['then']): void {
    this.#doubtful = [...this.#doubtful, ...rows.map((row) => ({ row, then }))]
    this.#schedule()
  }

  /** Withdraws or adds commands in doubt; until then nothing is sent to their devices. Throws errors of the write. */
  async settleDoubts(): Promise<void> {
    const doubtful = this.#doubtful
    if (doubtful.length === 0) return
    const { store } = this.#deps
    const commandIds = doubtful.flatMap(({ row, then }) => (then === 'withdraw' ? [row.commandId] : []))
    // also without ids: once this write succeeds, the result of the earlier ones is known
    await store.write('withdrawCommands', { commandIds }, () => {
      this.#doubtful = this.#doubtful.filter((doubt) => !doubtful.includes(doubt))
      for (const { row, then } of doubtful) if (then === 'keep') this.#takeUp(row.commandId)
      for (const hardwareId of new Set(doubtful.map(({ row }) => row.hardwareId))) {
        // they may have superseded others
        for (const { row } of this.#unfinished.ofDevice(hardwareId)) {
          this.#follow(store.read.command(row.commandId) ?? row)
        }
        this.#sendAgain(hardwareId)
      }
    })
  }

  /** Stores sent commands as sent, and notifies clients that subscribe to the devices' commands. */
  mark(): void {
    const sent = this.#unmarked.splice(0).filter(({ command }) => this.#isCurrent(command))
    if (sent.length === 0) return
    this.#marksUnderWay++
    this.#watch(
      this.#writeMarks(sent)
        .finally(() => this.#marksUnderWay--)
        .then(() => this.#markSoon()),
      () => this.#unmarked.push(...sent),
    )
  }

  async #writeMarks(sent: readonly Sent[]): Promise<void> {
    const { downlink, store } = this.#deps
    const messages = sent.map(({ command, shown }) =>
      downlink.prepare({ topic: commandTopic(command.row), payload: shown, isRetained: false }),
    )
    const marks = sent.map(({ command, atMs }) => ({ commandId: command.row.commandId, atMs }))
    await publishWith(messages, (sessionChanges, commit) =>
      store.write('markCommandsPublished', { sent: marks, sessionChanges }, (rows) => {
        for (const row of rows) this.#follow(row)
        commit()
      }),
    )
  }

  /** Stores sent commands, one write at a time to batch those sent meanwhile: a fleet may reconnect within a second. */
  #markSoon(): void {
    if (this.#marksUnderWay === 0) this.mark()
  }

  #restore(row: CommandRow): void {
    const { clock } = this.#deps
    // reading the time makes the clock evaluate itself
    const nowMs = clock.nowMs()
    const remainingMs = clock.isTrusted ? remainingOf(row, nowMs) : row.ttlS * 1000
    this.#unfinished.add(row, clock.monotonicMs() + remainingMs, !clock.isTrusted)
  }

  #takeUp(commandId: string): void {
    const row = this.#deps.store.read.command(commandId)
    if (row === undefined || isFinal(row.status)) return
    this.#restore(row)
    this.outcomes.add('created')
  }

  #reached(hardwareId: string): void {
    this.#contacts.set(hardwareId, this.#contactOf(hardwareId) + 1)
    this.#sendAgain(hardwareId)
  }

  #sendAgain(hardwareId: string): void {
    if (this.#unfinished.countOf(hardwareId) === 0) return
    const turn = this.#deps.turns.take(`device:${hardwareId}`, async () => {
      for (const command of this.#unfinished.ofDevice(hardwareId)) {
        const isDue = command.row.status !== 'acknowledged' && command.contact !== this.#contactOf(hardwareId)
        if (isDue) this.#send(command)
      }
      this.#settle()
    })
    // refused if a thousand such jobs are already waiting
    turn.catch(() => undefined)
  }

  #send(command: UnfinishedCommand): void {
    const { clock, downlink, log } = this.#deps
    const { row } = command
    const remainingMs = command.deadlineMs - clock.monotonicMs()
    if (command.isHeld || remainingMs <= 0 || this.#isDoubted(row.hardwareId)) return
    if (!this.#heldLocks.passes(command, () => this.#isLastWord(command))) return
    const atMs = clock.nowMs()
    const message = toCommandMessage(row, atMs, remainingMs)
    const payload = JSON.stringify(message)
    try {
      if (!downlink.send(row.hardwareId, commandTopic(row), payload)) return
    } catch (error) {
      log.error({ commandId: row.commandId, reason: describeError(error) }, 'command send failed; will retry')
      return
    }
    command.contact = this.#contactOf(row.hardwareId)
    if (command.isSent || row.status !== 'pending') this.outcomes.add('resent')
    else
      this.#unmarked.push({
        command,
        shown: JSON.stringify({ ...message, params: shownParams(row, null) }),
        atMs,
      })
    command.isSent = true
  }

  /** True if no other lock or unlock of its device came after it. */
  #isLastWord(command: UnfinishedCommand): boolean {
    const commands = this.#unfinished.ofDevice(command.row.hardwareId)
    return commands.findLast(({ row }) => SUPERSEDABLE.includes(row.command)) === command
  }

  /** Stores the results of sending, and requests missing positions of carts. */
  #settle(): void {
    this.#markSoon()
    this.#failRefused()
    const hardwareIds = this.#heldLocks.takeUnlocated()
    if (hardwareIds.length > 0) this.#deps.events.emit('positionWanted', { hardwareIds })
  }

  #failRefused(): void {
    const refused = this.#heldLocks.takeRefused()
    if (refused.length === 0) return
    const failures = refused.map(({ command, error }) => ({ commandId: command.row.commandId, error }))
    const write = this.#deps.store.write('failCommands', { failures }, (rows) => {
      for (const row of rows) this.#follow(row)
    })
    this.#watch(write, () => this.#heldLocks.putBack(refused))
  }

  /** Updates memory to the stored state. */
  #follow(row: CommandRow): void {
    const command = this.#unfinished.get(row.commandId)
    if (command === undefined || command.row.status === row.status) return
    command.row = row
    if (isFinal(row.status)) this.#letGo(command)
    this.outcomes.add(outcomeOf(row))
    this.#deps.events.emit('commandMoved', { command: row, atMs: this.#deps.clock.nowMs() })
  }

  #removed(hardwareId: string): void {
    this.#contacts.delete(hardwareId)
    for (const { row } of this.#unfinished.ofDevice(hardwareId)) {
      // as the write that removed the device has stored it
      const progress = advance(row, { kind: 'failed', error: 'device_removed' })
      if (progress !== null) this.#follow({ ...row, ...progress })
    }
  }

  #check(): void {
    this.#releaseHeld()
    this.#expire()
    this.#heldLocks.expire()
    this.#failRefused()
    this.mark()
    if (this.#doubtful.length > 0) this.#watch(this.settleDoubts(), () => undefined)
    this.#schedule()
  }

  #releaseHeld(): void {
    if (!this.#unfinished.hasHeld) return
    const { clock } = this.#deps
    const nowMs = clock.nowMs()
    if (!clock.isTrusted) return
    const devices = new Set<string>()
    for (const command of this.#unfinished.held) {
      // the monotonic deadline includes the time it was held, which the clock may not show
      const deadlineMs = Math.min(command.deadlineMs, clock.monotonicMs() + remainingOf(command.row, nowMs))
      this.#unfinished.release(command, deadlineMs)
      devices.add(command.row.hardwareId)
    }
    for (const hardwareId of devices) this.#sendAgain(hardwareId)
  }

  #expire(): void {
    const { clock, store } = this.#deps
    const nowMs = clock.monotonicMs()
    const due = this.#unfinished.deadlines.takeDue(nowMs, EXPIRED_PER_WRITE)
    if (due.length === 0) return
    const commandIds = due.map(({ row }) => row.commandId)
    const write = store.write('expireCommands', { commandIds }, (rows) => {
      for (const row of rows) this.#follow(row)
      for (const command of due) this.#letGo(command)
    })
    this.#watch(write, () => {
      for (const command of due) {
        if (this.#isCurrent(command)) this.#unfinished.deadlines.set(command, nowMs + CHECK_MS)
      }
    })
  }

  #letGo(command: UnfinishedCommand): void {
    this.#unfinished.remove(command)
    this.#heldLocks.forget(command)
  }

  #isDoubted(hardwareId: string): boolean {
    return this.#doubtful.some(({ row }) => row.hardwareId === hardwareId)
  }

  #isCurrent(command: UnfinishedCommand): boolean {
    return this.#unfinished.get(command.row.commandId) === command
  }

  #contactOf(hardwareId: string): number {
    return this.#contacts.get(hardwareId) ?? 0
  }

  /** Tracks a write until it ends; `onFailed` prepares the next attempt. */
  #watch(write: Promise<unknown>, onFailed: () => void): void {
    const watched = write
      .catch((error: unknown) => {
        // the store has already logged that it is unusable
        if (!(error instanceof UnavailableError))
          this.#deps.log.error({ reason: describeError(error) }, 'command progress write failed; will retry')
        onFailed()
      })
      .finally(() => {
        this.#writes.delete(watched)
        this.#schedule()
      })
    this.#writes.add(watched)
  }

  /** Sets the single timer to the next deadline or check. */
  #schedule(): void {
    clearTimeout(this.#timer)
    const isIdle = this.#unfinished.size + this.#unmarked.length + this.#doubtful.length === 0
    if (!this.#isRunning || isIdle) return
    const nextMs = this.#unfinished.deadlines.nextMs ?? Number.POSITIVE_INFINITY
    const waitMs = Math.min(CHECK_MS, Math.max(0, nextMs - this.#deps.clock.monotonicMs()))
    this.#timer = setTimeout(() => this.#check(), waitMs)
  }
}

function outcomeOf({ status, error }: CommandRow): string {
  return FAILURE_REASONS.find((failure) => failure === error) ?? status
}
