import type { CommandFailure } from '#domain/commands.ts'
import type { MonotonicClock } from '#shared/time.ts'
import { isLock, type LockGate } from './lock-gate.ts'
import type { UnfinishedCommand } from './unfinished.ts'

interface PendingLocksDeps {
  gate: LockGate
  clock: MonotonicClock
}

/** A lock that came to be sent, and is not. */
interface Refused {
  command: UnfinishedCommand
  error: CommandFailure
}

/** How long a lock waits for its cart to say where it is. */
const LOCATING_MS = 15_000

/**
 * Locks that came to be sent and were not: those that wait for a newer position of their cart, and those that are to
 * fail. Nothing of it is on the disk: after a start each lock that was not sent is judged anew.
 */
export class PendingLocks {
  readonly #deps: PendingLocksDeps
  /** Until when each waits, by the monotonic clock. */
  readonly #waiting = new Map<UnfinishedCommand, number>()
  readonly #refused = new Map<UnfinishedCommand, CommandFailure>()
  /** Not written down yet. */
  #unwritten: Refused[] = []
  #unlocated: string[] = []

  constructor(deps: PendingLocksDeps) {
    this.#deps = deps
  }

  /**
   * Whether a command that comes to be sent may be. A lock whose cart is moving is to fail; one whose position is old
   * waits for a newer, unless another lock or unlock came after it (`isLast` false): it would come too late.
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
    // out of reach nothing is located, and where it is nobody knows
    if (this.#waiting.has(command) && !gate.isOnline(row.hardwareId)) return false
    this.#waiting.delete(command)
    return true
  }

  /** Devices whose locks need wait no longer: something newer is known of their carts. */
  decided(): string[] {
    const devices = [...this.#waiting.keys()].map(({ row }) => row.hardwareId)
    return devices.filter((hardwareId) => this.#isDecided(hardwareId))
  }

  /** Gives up those that have waited for too long. */
  expire(): void {
    const nowMs = this.#deps.clock.monotonicMs()
    for (const [command, untilMs] of this.#waiting)
      if (nowMs >= untilMs && !this.#isDecided(command.row.hardwareId)) this.#refuse(command, 'position_unknown')
  }

  /** A newer lock or unlock of the device is there. */
  supersede(hardwareId: string): void {
    for (const command of this.#waiting.keys())
      if (command.row.hardwareId === hardwareId) this.#refuse(command, 'superseded')
  }

  /** It is over. */
  forget(command: UnfinishedCommand): void {
    this.#waiting.delete(command)
    this.#refused.delete(command)
  }

  /** What is to be written down as failed. */
  takeRefused(): Refused[] {
    const taken = this.#unwritten.filter(({ command }) => this.#refused.has(command))
    this.#unwritten = []
    return taken
  }

  /** They could not be written down. */
  putBack(refused: readonly Refused[]): void {
    this.#unwritten.push(...refused)
  }

  /** Devices whose position is wanted, each once. */
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
