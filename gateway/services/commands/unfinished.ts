import { Deadlines } from '#domain/deadlines.ts'
import type { CommandRow } from '#store/tables/commands.ts'

/** A command something may still happen to. */
export interface UnfinishedCommand {
  row: CommandRow
  /** When it is too late, by the monotonic clock. */
  deadlineMs: number
  /** From before a restart, of unknown age: not sent until the clock is set. */
  isHeld: boolean
  /** It went out, though that may not be written down yet. */
  isSent: boolean
  /** The connection of its device that it was sent on last; see `CommandDelivery`. */
  contact: number
}

/** The unfinished commands, by id, by device and by deadline. */
export class UnfinishedCommands {
  readonly #byId = new Map<string, UnfinishedCommand>()
  readonly #byDevice = new Map<string, Set<UnfinishedCommand>>()
  readonly #held = new Set<UnfinishedCommand>()
  readonly deadlines = new Deadlines<UnfinishedCommand>()

  get size(): number {
    return this.#byId.size
  }

  get(commandId: string): UnfinishedCommand | undefined {
    return this.#byId.get(commandId)
  }

  /** Oldest first. */
  ofDevice(hardwareId: string): readonly UnfinishedCommand[] {
    return [...(this.#byDevice.get(hardwareId) ?? [])]
  }

  countOf(hardwareId: string): number {
    return this.#byDevice.get(hardwareId)?.size ?? 0
  }

  get held(): readonly UnfinishedCommand[] {
    return [...this.#held]
  }

  get hasHeld(): boolean {
    return this.#held.size > 0
  }

  add(row: CommandRow, deadlineMs: number, isHeld = false): void {
    const command: UnfinishedCommand = { row, deadlineMs, isHeld, isSent: false, contact: -1 }
    this.#byId.set(row.commandId, command)
    const others = this.#byDevice.get(row.hardwareId) ?? new Set()
    this.#byDevice.set(row.hardwareId, others.add(command))
    if (isHeld) this.#held.add(command)
    this.deadlines.set(command, deadlineMs)
  }

  /** It may be sent from now on, until `deadlineMs`. */
  release(command: UnfinishedCommand, deadlineMs: number): void {
    this.#held.delete(command)
    command.isHeld = false
    command.deadlineMs = deadlineMs
    this.deadlines.set(command, deadlineMs)
  }

  remove(command: UnfinishedCommand): void {
    const { commandId, hardwareId } = command.row
    if (!this.#byId.delete(commandId)) return
    const others = this.#byDevice.get(hardwareId)
    others?.delete(command)
    if (others?.size === 0) this.#byDevice.delete(hardwareId)
    this.#held.delete(command)
    this.deadlines.delete(command)
  }
}
