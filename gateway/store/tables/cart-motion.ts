import type { ZoneType } from '#shared/zones/zone.ts'
import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'

export const cartMotionTable = table('cart_motion', {
  care: {
    what: 'how carts moved',
    meaning: 'It is worked out anew from their newest positions.',
  },
  json: {
    motion: { type: 'object', cure: 'delete' },
  },
  belongsTo: ['device_id', 'device'],
})

/** What is kept of how a device moves, as JSON. */
export interface CartMotionRow {
  deviceId: number
  motion: string
}

export function listCartMotions(connection: Connection): CartMotionRow[] {
  return connection.all<CartMotionRow>('SELECT device_id, motion FROM cart_motion ORDER BY device_id')
}

/** Devices that were deleted meanwhile are left out. */
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

/** When devices last left a zone of this type, of those that did since then. */
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
