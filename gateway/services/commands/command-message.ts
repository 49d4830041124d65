import { type CommandMessage, deviceTopic } from '#shared/wire/mqtt.ts'
import type { CommandRow } from '#store/tables/commands.ts'

export function commandTopic({ hardwareId }: Pick<CommandRow, 'hardwareId'>): string {
  return deviceTopic(hardwareId, 'cmd')
}

/** Builds the message for a device; its `ttl` is the time for which the device may still execute the command. */
export function toCommandMessage(row: CommandRow, atMs: number, remainingMs: number): CommandMessage {
  return {
    id: row.commandId,
    cmd: row.command,
    params: JSON.parse(row.paramsJson),
    ts: atMs,
    ttl: Math.ceil(remainingMs / 1000),
  }
}

/** Returns a command's remaining time after a restart; 0 if it was created in the future: its age is then unknown. */
export function remainingOf({ createdAtMs, ttlS }: CommandRow, nowMs: number): number {
  return nowMs < createdAtMs ? 0 : Math.max(0, createdAtMs + ttlS * 1000 - nowMs)
}
