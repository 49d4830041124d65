import { decodeBlocks } from '#shared/telemetry/blocks.ts'
import type { Connection } from '../db/connection.ts'
import { insertBlock } from '../telemetry/blocks.ts'

/**
 * Stores blocks of records as the head office has them, behind all that are there of their device and stream. Returns how
 * many records. Those of a device that the head office has not named are left out: no request could reach them. Throws
 * `DamagedBlockError`.
 */
export function putBlocks(connection: Connection, bytes: Uint8Array): number {
  let records = 0
  for (const { hardwareId, block, header } of decodeBlocks(bytes)) {
    const device = connection.get<{ deviceId: number }>(
      'SELECT device_id FROM device WHERE hardware_id = ?',
      hardwareId,
    )
    if (device === undefined) continue
    const { kind: stream, firstMs, lastMs, count } = header
    insertBlock(connection, { deviceId: device.deviceId, stream }, { firstMs, lastMs, count, records: block })
    records += count
  }
  return records
}

/** What the states of devices say of their records, by the blocks that are there. */
export function countRecords(connection: Connection): void {
  for (const stream of ['gps', 'battery'])
    connection.run(
      `UPDATE device_state SET (${stream}_count, ${stream}_first_ms, ${stream}_last_ms) =
         (SELECT ifnull(sum(count), 0), min(first_ms), max(last_ms) FROM telemetry_block b
           WHERE b.device_id = device_state.device_id AND b.stream = ?)`,
      stream,
    )
}
