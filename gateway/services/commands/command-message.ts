import { type CommandMessage, deviceTopic } from '#shared/wire/mqtt.ts'
import type { CommandRow } from '#store/tables/commands.ts'

/** Where a device listens for its commands. */
export function commandTopic({ hardwareId }: Pick<CommandRow, 'hardwareId'>): string {
  return deviceTopic(hardwareId, 'cmd')
}

/** What a device is sent: it is told how long it may still obey. */
export function toCommandMessage(row: CommandRow, atMs: number, remainingMs: number): CommandMessage {
  return {
    id: row.commandId,
    cmd: row.command,
    params: JSON.parse(row.paramsJson),
    ts: atMs,
    ttl: Math.ceil(remainingMs / 1000),
  }
}

/**
 * What is left of a command's time after a restart; nothing where its creation lies ahead, because the time passed is
 * then unknown.
 */
export function remainingOf({ createdAtMs, ttlS }: CommandRow, nowMs: number): number {
  return nowMs < createdAtMs ? 0 : Math.max(0, createdAtMs + ttlS * 1000 - nowMs)
}
