import { z } from 'zod'
import type { LockAction } from './course/itinerary.ts'

const commandSchema = z.looseObject({
  id: z.string(),
  cmd: z.string(),
  params: z.record(z.string(), z.unknown()).nullish(),
  ts: z.number().optional(),
  ttl: z.number().optional(),
})
export type Command = z.infer<typeof commandSchema>

export interface CommandAck {
  readonly id: string
  readonly st: 'acknowledged' | 'completed' | 'failed'
  readonly err?: string
}

export interface CommandEffects {
  turnLock(event: LockAction['event'], commandId: string): void
  reportPosition(): void
  reboot(): void
  download(url: string): Promise<void>
  /** False if golfers do not confirm the messages of staff. */
  readsMessages: boolean
}

type Handler = (command: Command, effects: CommandEffects) => void | Promise<void>

const HANDLERS: Readonly<Record<string, Handler>> = {
  lock: (command, effects) => effects.turnLock('lock', command.id),
  unlock: (command, effects) => effects.turnLock('unlock', command.id),
  locate: (_, effects) => effects.reportPosition(),
  reboot: (_, effects) => effects.reboot(),
  message: () => undefined,
  refresh_config: () => undefined,
  fetch_geofences: (command, effects) => effects.download(z.string().parse(command.params?.url)),
}

const REMEMBERED = 100

/** Commands that a device has received, with its last acknowledgement of each: repeated ones are only acknowledged. */
export class CommandMemory {
  readonly #answers = new Map<string, CommandAck>()

  answerTo(id: string): CommandAck | undefined {
    return this.#answers.get(id)
  }

  note(ack: CommandAck): void {
    this.#answers.set(ack.id, ack)
    const [oldest] = this.#answers.keys()
    if (this.#answers.size > REMEMBERED && oldest !== undefined) this.#answers.delete(oldest)
  }
}

/**
 * True if a command is too late. Without a clock a device cannot know how long it was in flight: counts from receipt.
 */
export function isTooLate(command: Command, receivedAtMs: number, nowMs: number, hasClock: boolean): boolean {
  if (command.ttl === undefined) return false
  const sinceMs = hasClock ? Math.min(receivedAtMs, command.ts ?? receivedAtMs) : receivedAtMs
  return nowMs - sinceMs > command.ttl * 1000
}

export function parseCommand(payload: string): Command | undefined {
  return readMessage(commandSchema, payload)
}

/** Parses a message; undefined if it does not fit the schema. */
export function readMessage<Schema extends z.ZodType>(schema: Schema, payload: string): z.output<Schema> | undefined {
  try {
    return schema.safeParse(JSON.parse(payload)).data
  } catch {
    return undefined
  }
}

/** Executes a command and reports it: acknowledged immediately, then completed or failed. */
export async function carryOut(
  command: Command,
  effects: CommandEffects,
  acknowledge: (ack: CommandAck) => void,
): Promise<void> {
  const { id } = command
  acknowledge({ id, st: 'acknowledged' })
  const handle = Object.hasOwn(HANDLERS, command.cmd) ? HANDLERS[command.cmd] : undefined
  if (handle === undefined) return acknowledge({ id, st: 'failed', err: 'unsupported' })
  try {
    // a reboot breaks the connection, so it is reported as completed before it happens
    if (command.cmd === 'reboot') acknowledge({ id, st: 'completed' })
    await handle(command, effects)
    if (command.params?.message_id !== undefined && !effects.readsMessages) return
    if (command.cmd !== 'reboot') acknowledge({ id, st: 'completed' })
  } catch {
    acknowledge({ id, st: 'failed', err: 'failed' })
  }
}
