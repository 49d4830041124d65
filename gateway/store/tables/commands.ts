import {
  advance,
  type CommandEvent,
  type CommandFailure,
  type CommandProgress,
  SUPERSEDABLE,
} from '#domain/commands.ts'
import type { SessionChange } from '#domain/mqtt-sessions.ts'
import type { AckStatus, CommandStatus } from '#shared/wire/commands.ts'
import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { type ListCondition, type ListedTable, type ListPage, listPage } from '../db/list-page.ts'
import { names, table } from '../db/table.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'
import { applySessionChange } from './mqtt-sessions.ts'

export const commandCountTable = table('command_count', {
  care: {
    what: 'the number of commands',
    meaning: 'They were counted again.',
    afterLoss: ['INSERT OR REPLACE INTO command_count (command_count_id, commands) SELECT 1, count(*) FROM command'],
  },
})

export const commandTable = table('command', {
  care: {
    what: 'the commands',
    size: 'large',
    meaning: 'Missing commands are neither sent nor listed.',
    afterLoss: ['INSERT OR REPLACE INTO command_count (command_count_id, commands) SELECT 1, count(*) FROM command'],
  },
  json: {
    params: {
      type: 'object',
      where: "status IN ('pending', 'published', 'acknowledged')",
      cure: {
        set: `status = 'failed', error = 'damaged', params = '{}', metadata = NULL, late_ack = NULL,
          completed_at_ms = ifnull(acknowledged_at_ms, ifnull(published_at_ms, created_at_ms))`,
      },
    },
    metadata: {
      type: 'object',
      where: "status IN ('pending', 'published', 'acknowledged')",
      cure: {
        set: `status = 'failed', error = 'damaged', params = '{}', metadata = NULL, late_ack = NULL,
          completed_at_ms = ifnull(acknowledged_at_ms, ifnull(published_at_ms, created_at_ms))`,
      },
    },
    late_ack: {
      type: 'object',
      where: "status IN ('pending', 'published', 'acknowledged')",
      cure: {
        set: `status = 'failed', error = 'damaged', params = '{}', metadata = NULL, late_ack = NULL,
          completed_at_ms = ifnull(acknowledged_at_ms, ifnull(published_at_ms, created_at_ms))`,
      },
    },
  },
  replicated: {
    columns: names(`command_id, hardware_id, short_id, device_type, command, params, metadata, ttl_s,
      status, requested_by, retry_of, created_at_ms, published_at_ms, acknowledged_at_ms,
      completed_at_ms, error, late_ack, forced`),
    marks: ['forced'],
    times: ['created_at_ms', 'published_at_ms', 'acknowledged_at_ms', 'completed_at_ms'],
    key: 't.command_id',
    where: 't.command_id = ?',
  },
})

/** Command with its complete progress. */
export interface CommandRow extends CommandProgress {
  commandId: string
  hardwareId: string
  shortId: string
  deviceType: string
  command: string
  paramsJson: string
  metadataJson: string | null
  ttlS: number
  requestedBy: string
  retryOf: string | null
  createdAtMs: number
  /** Check that a forced lock ignores: `locating` an unknown position, `all` every check; null if not forced. */
  forced: 'locating' | 'all' | null
}

export interface CommandQuery extends ListPage {
  hardwareId?: string | undefined
  /** Only commands for the registration of a device with this short id. */
  shortId?: string | undefined
  status?: CommandStatus | undefined
  command?: string | undefined
}

type StoredCommand = Omit<CommandRow, 'lateAck'> & { lateAckJson: string | null }

const COLUMNS = `command_id, hardware_id, short_id, device_type,
  command, params AS paramsJson, metadata AS metadataJson, ttl_s, status, requested_by,
  retry_of, created_at_ms, published_at_ms,
  acknowledged_at_ms, completed_at_ms, error, late_ack AS lateAckJson, forced`
// the exact text of the partial index's condition, so that SQLite uses it
const IS_UNFINISHED = "status IN ('pending', 'published', 'acknowledged')"

const COMMANDS: ListedTable = { table: 'command', id: 'command_id', place: ['seq'], columns: COLUMNS }

function toRow({ lateAckJson, ...rest }: StoredCommand): CommandRow {
  return { ...rest, lateAck: lateAckJson === null ? null : JSON.parse(lateAckJson) }
}

export function findCommand(connection: Connection, commandId: string): CommandRow | undefined {
  const stored = connection.get<StoredCommand>(`SELECT ${COLUMNS} FROM command WHERE command_id = ?`, commandId)
  return stored && toRow(stored)
}

/** Progress of a command that is `waiting` until it is sent or expires. */
export interface CommandReach {
  commandId: string
  hardwareId: string
  progress: 'confirmed' | 'sent' | 'waiting' | 'offline'
}

export function commandProgress(connection: Connection, commandIds: readonly string[]): CommandReach[] {
  return connection.all(
    `SELECT command_id, hardware_id, CASE WHEN status = 'completed' THEN 'confirmed' WHEN published_at_ms IS NOT NULL
       THEN 'sent' WHEN status = 'pending' THEN 'waiting' ELSE 'offline' END AS progress
     FROM command WHERE command_id IN (SELECT value FROM json_each(?)) ORDER BY seq`,
    JSON.stringify(commandIds),
  )
}

/** Commands in order of creation; null if `before` is unknown. */
export function listCommands(
  { connection }: Pick<ReaderTools, 'connection'>,
  query: CommandQuery,
): CommandRow[] | null {
  const conditions: ListCondition[] = [
    ['hardware_id = ?', query.hardwareId],
    ['short_id = ?', query.shortId],
    ['status = ?', query.status],
    ['command = ?', query.command],
  ]
  const rows = listPage<StoredCommand>(connection, COMMANDS, conditions, query)
  return rows === null ? null : rows.map(toRow)
}

/** Commands whose state may still change, oldest first. */
export function listUnfinishedCommands(connection: Connection): CommandRow[] {
  return connection.all<StoredCommand>(`SELECT ${COLUMNS} FROM command WHERE ${IS_UNFINISHED} ORDER BY seq`).map(toRow)
}

export function countCommands(connection: Connection): number {
  return connection.get<{ commands: number }>('SELECT commands FROM command_count')?.commands ?? 0
}

/** Metadata that a command passes on to the lock event it caused, if it was for this device. */
export function commandMetadata(connection: Connection, commandId: string, hardwareId: string): string | null {
  const sql = 'SELECT metadata AS json FROM command WHERE command_id = ? AND hardware_id = ?'
  return connection.get<{ json: string | null }>(sql, commandId, hardwareId)?.json ?? null
}

export function insertCommand(connection: Connection, row: CommandRow): void {
  connection.run(
    `INSERT INTO command (command_id, hardware_id, short_id, device_type, command, params, metadata, ttl_s, status,
       requested_by, retry_of, created_at_ms, forced) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    row.commandId,
    row.hardwareId,
    row.shortId,
    row.deviceType,
    row.command,
    row.paramsJson,
    row.metadataJson,
    row.ttlS,
    row.status,
    row.requestedBy,
    row.retryOf,
    row.createdAtMs,
    row.forced,
  )
}

export function addToCommandCount(connection: Connection, added: number): void {
  connection.run('UPDATE command_count SET commands = commands + ?', added)
}

/** Fails the pending locks and unlocks of a device. */
export function supersedeCommands(connection: Connection, hardwareId: string): CommandRow[] {
  const rows = connection.all<StoredCommand>(
    `SELECT ${COLUMNS} FROM command WHERE hardware_id = ? AND ${IS_UNFINISHED} AND status = 'pending'
       AND command IN (${SUPERSEDABLE.map(() => '?').join(', ')}) ORDER BY seq`,
    hardwareId,
    ...SUPERSEDABLE,
  )
  return moveAll(connection, rows.map(toRow), { kind: 'failed', error: 'superseded' })
}

/** Fails the unfinished commands of a device that is removed. */
export function failCommandsOf(connection: Connection, hardwareId: string): void {
  const sql = `SELECT ${COLUMNS} FROM command WHERE hardware_id = ? AND ${IS_UNFINISHED} ORDER BY seq`
  const rows = connection.all<StoredCommand>(sql, hardwareId).map(toRow)
  moveAll(connection, rows, { kind: 'failed', error: 'device_removed' })
}

/** Fails those of these commands that are still pending. */
export function supersedeMessages(connection: Connection, commandIds: readonly string[]): CommandRow[] {
  const rows = commandIds.flatMap((commandId) => findCommand(connection, commandId) ?? [])
  const pending = rows.filter(({ status }) => status === 'pending')
  return moveAll(connection, pending, { kind: 'failed', error: 'superseded' })
}

/** Records that commands were sent, and queues the messages about it to other clients. Returns their new state. */
export const markCommandsPublished = write(
  (
    connection: Connection,
    input: { sent: readonly { commandId: string; atMs: number }[]; sessionChanges: readonly SessionChange[] },
  ): CommandRow[] => {
    for (const change of input.sessionChanges) applySessionChange(connection, change)
    return input.sent.flatMap(({ commandId, atMs }) => moveOne(connection, commandId, { kind: 'published', atMs }))
  },
  { audit: null },
)

/** Expires commands. Returns the new state of those that exist. */
export const expireCommands = write(
  (connection: Connection, { commandIds }: { commandIds: readonly string[] }): CommandRow[] => {
    return commandIds.flatMap((commandId) => moveOne(connection, commandId, { kind: 'expired' }))
  },
  { audit: null },
)

/** Fails commands that must not be sent. Returns the new state of those that exist. */
export const failCommands = write(
  (
    connection: Connection,
    { failures }: { failures: readonly { commandId: string; error: CommandFailure }[] },
  ): CommandRow[] => {
    return failures.flatMap(({ commandId, error }) => {
      const row = findCommand(connection, commandId)
      // it was sent on an earlier connection, and the device is executing it
      if (row?.status === 'acknowledged') return [row]
      return moveOne(connection, commandId, { kind: 'failed', error })
    })
  },
  { audit: null },
)

/** Requester of automatic locks, for carts that stand still in their parking zone. */
export const AUTO_LOCK = 'auto-lock'

/** Creation time of the last automatic lock for each device. */
export function autoLockTimes(connection: Connection): { hardwareId: string; atMs: number }[] {
  // the exact condition of the partial index; with max() SQLite takes the other columns from the same row
  return connection.all(
    `SELECT hardware_id, created_at_ms AS atMs, max(seq) AS seq FROM command
     WHERE requested_by = '${AUTO_LOCK}' GROUP BY hardware_id ORDER BY hardware_id`,
  )
}

export interface NewCommandAck {
  commandId: string
  hardwareId: string
  status: AckStatus
  error: string | null
  atMs: number
}

/** Effect of an acknowledgement: `late` is stored next to the final state; only `moved` changes the state. */
export type AckResult =
  | { outcome: 'moved' | 'late' | 'repeated'; command: CommandRow }
  | { outcome: 'unknown_command' | 'foreign_command' }

/** Applies an acknowledgement of a device. */
export function applyCommandAck(connection: Connection, ack: NewCommandAck): AckResult {
  const row = findCommand(connection, ack.commandId)
  if (row === undefined) return { outcome: 'unknown_command' }
  if (row.hardwareId !== ack.hardwareId) return { outcome: 'foreign_command' }
  const { status, error, atMs } = ack
  const [command] = moveAll(connection, [row], { kind: 'acked', status, error, atMs })
  if (command === undefined) return { outcome: 'repeated', command: row }
  return { outcome: command.status === row.status ? 'late' : 'moved', command }
}

function moveOne(connection: Connection, commandId: string, event: CommandEvent): CommandRow[] {
  const row = findCommand(connection, commandId)
  if (row === undefined) return []
  const [moved = row] = moveAll(connection, [row], event)
  return [moved]
}

/** Returns the commands that changed. */
function moveAll(connection: Connection, rows: readonly CommandRow[], event: CommandEvent): CommandRow[] {
  return rows.flatMap((row) => {
    const progress = advance(row, event)
    if (progress === null) return []
    const moved = { ...row, ...progress }
    connection.run(
      `UPDATE command SET status = ?, published_at_ms = ?, acknowledged_at_ms = ?, completed_at_ms = ?, error = ?,
         late_ack = ? WHERE command_id = ?`,
      moved.status,
      moved.publishedAtMs,
      moved.acknowledgedAtMs,
      moved.completedAtMs,
      moved.error,
      moved.lateAck === null ? null : JSON.stringify(moved.lateAck),
      moved.commandId,
    )
    return [moved]
  })
}
