import { SUPERSEDABLE } from '#domain/commands.ts'
import { NotFoundError } from '#shared/errors.ts'
import { event, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import {
  addToCommandCount,
  type CommandRow,
  countCommands,
  findCommand,
  insertCommand,
  supersedeCommands,
} from './commands.ts'
import { forgetIdempotencyKeyOf, type IdempotencyKey, keepIdempotencyKey } from './idempotency-keys.ts'

/** How many commands are kept at most; for how long is for retention to say. */
const KEPT_ROWS = 1_000_000
/** Old commands that go for each new one: there is never a long deletion, and never more and more rows. */
const TRIMMED_PER_COMMAND = 4

export interface NewCommands {
  commands: readonly CommandRow[]
  idempotencyKey: IdempotencyKey | null
}

/**
 * Writes down commands, all or none, and fails what they supersede: the devices' locks and unlocks that are still
 * pending. Returns those. Throws `device_not_found`.
 */
export const createCommands = write(
  (connection: Connection, input: NewCommands): CommandRow[] => {
    const superseded: CommandRow[] = []
    for (const row of input.commands) {
      requireDevice(connection, row.hardwareId)
      if (SUPERSEDABLE.includes(row.command)) superseded.push(...supersedeCommands(connection, row.hardwareId))
      insertCommand(connection, row)
    }
    addToCommandCount(connection, input.commands.length)
    if (input.idempotencyKey !== null) keepIdempotencyKey(connection, input.idempotencyKey)
    trim(connection, input.commands.length * TRIMMED_PER_COMMAND)
    return superseded
  },
  {
    // neither params, which may hold a token, nor metadata, which may name a person: the command has them
    audit:
      (_, { commands }) =>
      () =>
        commands.map(({ commandId, hardwareId, command, ttlS, retryOf, forced }) =>
          event('command.created', commandId, {
            hardware_id: hardwareId,
            command,
            ttl_s: ttlS,
            retry_of: retryOf,
            ...(forced === null ? {} : { forced: true }),
          }),
        ),
  },
)

/** Takes back commands of a write that failed, and may be on the disk all the same: they were never announced. */
export const withdrawCommands = write(
  (connection: Connection, { commandIds }: { commandIds: readonly string[] }): null => {
    let deleted = 0
    for (const commandId of commandIds) {
      deleted += connection.run('DELETE FROM command WHERE command_id = ?', commandId)
      forgetIdempotencyKeyOf(connection, commandId)
    }
    if (deleted > 0) connection.run('UPDATE command_count SET commands = commands - ?', deleted)
    return null
  },
  {
    audit: (connection, { commandIds }) => {
      const written = commandIds.filter((commandId) => findCommand(connection, commandId) !== undefined)
      return () => written.map((commandId) => event('command.withdrawn', commandId, null))
    },
  },
)

// It may have been taken off the register since the command was checked.
function requireDevice(connection: Connection, hardwareId: string): void {
  if (connection.get('SELECT 1 FROM device WHERE hardware_id = ?', hardwareId) !== undefined) return
  throw new NotFoundError('device_not_found', `there is no device ${hardwareId}`)
}

function trim(connection: Connection, maxRows: number): void {
  if (countCommands(connection) <= KEPT_ROWS) return
  const isOver = "status NOT IN ('pending', 'published', 'acknowledged')"
  const sql = `DELETE FROM command WHERE seq IN (SELECT seq FROM command WHERE ${isOver} ORDER BY seq LIMIT ?)`
  const deleted = connection.run(sql, maxRows)
  if (deleted > 0) connection.run('UPDATE command_count SET commands = commands - ?', deleted)
}
