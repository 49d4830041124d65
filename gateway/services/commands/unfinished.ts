import { Deadlines } from '#domain/deadlines.ts'
import type { CommandRow } from '#store/tables/commands.ts'

/** Command whose state may still change. */
export interface UnfinishedCommand {
  row: CommandRow
  /** Expiry by the monotonic clock. */
  deadlineMs: number
  /** True if it is from before a restart and its age is unknown: not sent until the clock is set. */
  isHeld: boolean
  /** True if it was sent, though that may not be stored yet. */
  isSent: boolean
  /** Connection of its device on which it was last sent; see `CommandDelivery`. */
  contact: number
}

/** Unfinished commands, indexed by id, device and deadline. */
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

  /** Returns a device's commands, oldest first. */
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

  /** Allows sending from now until `deadlineMs`. */
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
