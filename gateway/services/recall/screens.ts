import { isFinal } from '#domain/commands.ts'
import type { CommandStatus } from '#shared/wire/commands.ts'

interface Told {
  hardwareId: string
  status: CommandStatus | null
}

/** What the screens of a recall were told, and which of them have confirmed it. */
export class RecallScreens {
  readonly #byCommand = new Map<string, Told>()
  /** The newest message to each. */
  readonly #newest = new Map<string, Told>()
  readonly #confirmed = new Set<string>()

  /** A message to a screen was written down. */
  told(commandId: string, hardwareId: string, status: CommandStatus | null): void {
    const told = { hardwareId, status }
    this.#byCommand.set(commandId, told)
    this.#newest.set(hardwareId, told)
    if (status === 'completed') this.#confirmed.add(hardwareId)
  }

  /** A command got into another state. Returns the screen that has confirmed the recall by it, once; else null. */
  moved(commandId: string, status: CommandStatus): string | null {
    const told = this.#byCommand.get(commandId)
    if (told === undefined) return null
    told.status = status
    if (isFinal(status)) this.#byCommand.delete(commandId)
    if (status !== 'completed' || this.#confirmed.has(told.hardwareId)) return null
    this.#confirmed.add(told.hardwareId)
    return told.hardwareId
  }

  forget(hardwareId: string): void {
    this.#newest.delete(hardwareId)
    this.#confirmed.delete(hardwareId)
  }

  /** Those that were told anything. */
  get hardwareIds(): readonly string[] {
    return [...this.#newest.keys()]
  }

  hasBeenTold(hardwareId: string): boolean {
    return this.#newest.has(hardwareId)
  }

  isConfirmed(hardwareId: string): boolean {
    return this.#confirmed.has(hardwareId)
  }

  /** Whether a message is on its way, which goes again with the next connection of the screen. */
  isAwaiting(hardwareId: string): boolean {
    const status = this.#newest.get(hardwareId)?.status
    return status === 'pending' || status === 'published'
  }
}
