import type { CommandFailure } from '#domain/commands.ts'
import type { MonotonicClock } from '#shared/time.ts'
import { isLock, type LockGate } from './lock-gate.ts'
import type { UnfinishedCommand } from './unfinished.ts'

interface PendingLocksDeps {
  gate: LockGate
  clock: MonotonicClock
}

/** Lock that was due and is not sent. */
interface Refused {
  command: UnfinishedCommand
  error: CommandFailure
}

/** Time for which a lock waits for the position of its cart. */
const LOCATING_MS = 15_000

/**
 * Locks that were due but not sent: those that wait for a newer position of their cart, and those that will fail. Kept
 * in memory only: after a start each unsent lock is evaluated again.
 */
export class PendingLocks {
  readonly #deps: PendingLocksDeps
  /** End of each wait, by the monotonic clock. */
  readonly #waiting = new Map<UnfinishedCommand, number>()
  readonly #refused = new Map<UnfinishedCommand, CommandFailure>()
  /** Refused, but not yet stored as failed. */
  #unwritten: Refused[] = []
  #unlocated: string[] = []

  constructor(deps: PendingLocksDeps) {
    this.#deps = deps
  }

  /**
   * Returns true if a command that is due may be sent. A lock whose cart is moving fails. One with an outdated position
   * waits for a newer one, unless another lock or unlock came after it (`isLast` false), because it would be too late.
   */
  passes(command: UnfinishedCommand, isLast: () => boolean): boolean {
    const { row } = command
    if (this.#refused.has(command)) return false
    if (!isLock(row) || row.forced === 'all') return true
    const { gate } = this.#deps
    const verdict = gate.judge(row.hardwareId)
    if (verdict === 'cart_is_moving') {
      this.#refuse(command, row.forced === null ? 'cart_is_moving' : 'admin_required')
      return false
    }
    if (verdict === 'locate' && row.forced === null) {
      if (isLast()) this.#wait(command)
      else this.#refuse(command, 'superseded')
      return false
    }
    // a device out of reach cannot be located
    if (this.#waiting.has(command) && !gate.isOnline(row.hardwareId)) return false
    this.#waiting.delete(command)
    return true
  }

  /** Returns devices whose locks can be decided now, because newer data of their carts has been received. */
  decided(): string[] {
    const devices = [...this.#waiting.keys()].map(({ row }) => row.hardwareId)
    return devices.filter((hardwareId) => this.#isDecided(hardwareId))
  }

  /** Refuses locks that have waited for too long. */
  expire(): void {
    const nowMs = this.#deps.clock.monotonicMs()
    for (const [command, untilMs] of this.#waiting)
      if (nowMs >= untilMs && !this.#isDecided(command.row.hardwareId)) this.#refuse(command, 'position_unknown')
  }

  /** Refuses waiting locks after a newer lock or unlock of the device. */
  supersede(hardwareId: string): void {
    for (const command of this.#waiting.keys())
      if (command.row.hardwareId === hardwareId) this.#refuse(command, 'superseded')
  }

  forget(command: UnfinishedCommand): void {
    this.#waiting.delete(command)
    this.#refused.delete(command)
  }

  /** Returns the locks to store as failed. */
  takeRefused(): Refused[] {
    const taken = this.#unwritten.filter(({ command }) => this.#refused.has(command))
    this.#unwritten = []
    return taken
  }

  /** Returns locks to the list after a failed write. */
  putBack(refused: readonly Refused[]): void {
    this.#unwritten.push(...refused)
  }

  /** Returns the devices whose position is needed, each once. */
  takeUnlocated(): string[] {
    const taken = [...new Set(this.#unlocated)]
    this.#unlocated = []
    return taken
  }

  #isDecided(hardwareId: string): boolean {
    const { gate } = this.#deps
    return gate.isOnline(hardwareId) && gate.judge(hardwareId) !== 'locate'
  }

  #wait(command: UnfinishedCommand): void {
    if (this.#waiting.has(command)) return
    this.#waiting.set(command, this.#deps.clock.monotonicMs() + LOCATING_MS)
    this.#unlocated.push(command.row.hardwareId)
  }

  #refuse(command: UnfinishedCommand, error: CommandFailure): void {
    this.#waiting.delete(command)
    this.#refused.set(command, error)
    this.#unwritten.push({ command, error })
    if (error !== 'superseded') this.#deps.gate.refused.add(error)
  }
}
