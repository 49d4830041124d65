import type { Caller } from '#domain/access.ts'
import { shownParams } from '#services/commands/shown-params.ts'
import { isoOrNull, toIso } from '#shared/time.ts'
import type { CommandJson } from '#shared/wire/commands.ts'
import type { CommandRow } from '#store/tables/commands.ts'

/** A command as this caller may see it. */
export function toCommandJson(row: CommandRow, caller: Caller): CommandJson {
  const { lateAck } = row
  return {
    command_id: row.commandId,
    hardware_id: row.hardwareId,
    device_id: row.shortId,
    device_type: row.deviceType,
    command: row.command,
    params: shownParams(row, caller),
    metadata: row.metadataJson === null ? null : JSON.parse(row.metadataJson),
    status: row.status,
    requested_by: row.requestedBy,
    created_at: toIso(row.createdAtMs),
    expires_at: toIso(row.createdAtMs + row.ttlS * 1000),
    published_at: isoOrNull(row.publishedAtMs),
    acknowledged_at: isoOrNull(row.acknowledgedAtMs),
    completed_at: isoOrNull(row.completedAtMs),
    error: row.error,
    retry_of: row.retryOf,
    forced: row.forced !== null,
    late_ack:
      lateAck === null
        ? null
        : { status: lateAck.status, error: lateAck.error, timestamp: toIso(lateAck.atMs) },
  }
}
