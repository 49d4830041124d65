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

/** Maximum number of stored commands; their maximum age is a matter of retention. */
const KEPT_ROWS = 1_000_000
/** Old commands deleted for each new one, so that deletions are short and the number of rows is limited. */
const TRIMMED_PER_COMMAND = 4

export interface NewCommands {
  commands: readonly CommandRow[]
  idempotencyKey: IdempotencyKey | null
}

/** Inserts commands, all or none; fails and returns the locks and unlocks they supersede. Throws `device_not_found`. */
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
    // neither params, which may hold a token, nor metadata, which may name a person; both are in the command
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

/** Withdraws commands of a write that failed but may have reached the disk: they were never published. */
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

// The device may have been removed since the command was checked.
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
