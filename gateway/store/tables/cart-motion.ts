import type { ZoneType } from '#shared/zones/zone.ts'
import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'

export const cartMotionTable = table('cart_motion', {
  care: {
    what: 'the motion of carts',
    meaning: 'It is computed again from their newest positions.',
  },
  json: {
    motion: { type: 'object', cure: 'delete' },
  },
  belongsTo: ['device_id', 'device'],
})

/** Saved motion state of a device, as JSON. */
export interface CartMotionRow {
  deviceId: number
  motion: string
}

export function listCartMotions(connection: Connection): CartMotionRow[] {
  return connection.all<CartMotionRow>('SELECT device_id, motion FROM cart_motion ORDER BY device_id')
}

/** Rows of devices deleted in the meantime are skipped. */
export const saveCartMotions = write(
  (connection: Connection, { rows }: { rows: readonly CartMotionRow[] }): null => {
    for (const { deviceId, motion } of rows)
      connection.run(
        `INSERT INTO cart_motion (device_id, motion) SELECT device_id, ? FROM device WHERE device_id = ?
       ON CONFLICT DO UPDATE SET motion = excluded.motion`,
        motion,
        deviceId,
      )
    return null
  },
  { audit: null },
)

/** Time of each device's last exit from a zone of this type, of devices that left one since `sinceMs`. */
export function lastExits(
  connection: Connection,
  { zoneType, sinceMs }: { zoneType: ZoneType; sinceMs: number },
): { hardwareId: string; shortId: string | null; atMs: number }[] {
  return connection.all(
    `SELECT hardware_id, short_id, max(at_ms) AS atMs FROM geofence_event
     WHERE at_ms >= ? AND event = 'exit' AND zone_type = ? GROUP BY hardware_id, short_id`,
    sinceMs,
    zoneType,
  )
}
