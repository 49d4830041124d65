import { canSee } from '#domain/access.ts'
import { isFinal, isOfLock } from '#domain/commands.ts'
import type { GatewayEvents } from '#gateway/events.ts'
import type { Commands } from '#services/commands/commands.ts'
import { requireMayForce } from '#services/commands/lock-gate.ts'
import type { CommandRequest } from '#services/commands/request.ts'
import type { Device, Fleet } from '#services/fleet.ts'
import { AppError, ForbiddenError, NotFoundError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import { type ClientCommand, commandFieldsSchema } from '#shared/wire/realtime.ts'
import { fieldErrors } from '#shared/wire/schema/field-errors.ts'
import type { RealtimeConnection } from './connection.ts'

interface RealtimeCommandsDeps {
  fleet: Fleet
  commands: Commands
  log: Log
}

type Command = GatewayEvents['commandMoved']['command']

/** Commands on `/realtime`: the same as over HTTP, and the sender receives each status. */
export class RealtimeCommands {
  readonly #deps: RealtimeCommandsDeps
  /** Connection that sent each unfinished command. */
  readonly #senders = new Map<string, string>()

  constructor(deps: RealtimeCommandsDeps) {
    this.#deps = deps
  }

  /** Responds with `command_sent` once the command is stored, otherwise with `error`. Never rejects. */
  async perform(connection: RealtimeConnection, message: ClientCommand): Promise<void> {
    const echo = message.id === undefined ? {} : { id: message.id }
    try {
      requireMayForce(connection.caller, message.force)
      const device = this.#requireVisible(connection, message.hardwareId)
      const { caller } = connection
      const request = toRequest(message)
      await this.#deps.commands.create(device, request, {
        caller: connection.caller,
        callerNow: () => connection.requireSame(caller),
        onWritten: ([command]) => {
          if (command === undefined) return
          const { commandId, hardwareId, status } = command
          this.#senders.set(commandId, connection.connectionId)
          const { command: name } = command
          connection.send({ type: 'command_sent', commandId, hardwareId, command: name, status, ...echo })
        },
      })
    } catch (error) {
      const { code, message: text } = error instanceof AppError ? error : this.#unexpected(error)
      connection.send({ type: 'error', code, message: text, ...echo })
    }
  }

  /**
   * Returns the connections to notify about a command: for a lock or unlock, all that see the device; otherwise the one
   * that sent it; if that is closed, or the command came over HTTP, all of the same user.
   */
  audienceOf(command: Command, connections: Iterable<RealtimeConnection>): RealtimeConnection[] {
    const { commandId, requestedBy, hardwareId, status } = command
    const seeing = [...connections].filter(({ caller }) => canSee(caller, hardwareId))
    const senderId = this.#senders.get(commandId)
    if (isFinal(status)) this.#senders.delete(commandId)
    if (isOfLock(command)) return seeing
    const sender = seeing.find(({ connectionId }) => connectionId === senderId)
    if (sender !== undefined) return [sender]
    return seeing.filter(({ caller, login }) => [caller.userId, login.row.userId].includes(requestedBy))
  }

  #requireVisible(connection: RealtimeConnection, hardwareId: string): Device {
    const device = this.#deps.fleet.byHardwareId(hardwareId)
    if (device === undefined) throw new NotFoundError('device_not_found', `there is no device ${hardwareId}`)
    if (canSee(connection.caller, hardwareId)) return device
    throw new ForbiddenError('device_forbidden', `device ${hardwareId} is outside your scope`)
  }

  #unexpected(error: unknown): { code: string; message: string } {
    const reason = error instanceof Error ? error.stack : String(error)
    this.#deps.log.error({ reason }, 'could not perform a command of a realtime client')
    return { code: 'internal_error', message: 'the gateway failed; its log has the reason' }
  }
}

function toRequest(message: ClientCommand): CommandRequest {
  const parsed = commandFieldsSchema.safeParse(message)
  if (!parsed.success) {
    const errors = parsed.error.issues.flatMap((issue) => fieldErrors('body', issue, message))
    const text = errors.map(({ name, detail }) => `${name}: ${detail}`).join('; ')
    throw new AppError('invalid', errors[0]?.code ?? 'invalid_message', text)
  }
  const { command, params, metadata, ttl_seconds, ttlSeconds = ttl_seconds, force } = parsed.data
  const request = { command, params: params ?? {}, metadata: metadata ?? null, ttlS: ttlSeconds }
  return force === true ? { ...request, force } : request
}
