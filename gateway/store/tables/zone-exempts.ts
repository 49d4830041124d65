import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'
import { type Publication, storePublication } from './device-configs.ts'

export const zoneExemptTable = table('zone_exempt', {
  care: {
    what: 'the access to zones that was sent to devices',
    isRemembered: true,
    meaning: 'It is sent again while it is valid.',
  },
  json: {
    zone_types: { type: 'array', cure: { set: "zone_types = '[]'" } },
  },
  belongsTo: ['device_id', 'device'],
})

/** Zone types that a device may enter while others may not. */
export interface ZoneExemptRow {
  hardwareId: string
  /** JSON array. */
  zoneTypes: string
}

export function listZoneExempts(connection: Connection): ZoneExemptRow[] {
  return connection.all<ZoneExemptRow>(
    `SELECT d.hardware_id, e.zone_types
     FROM zone_exempt e JOIN device d USING (device_id) ORDER BY d.hardware_id`,
  )
}

/** Rows of devices deleted in the meantime are skipped. */
export const putZoneExempts = write(
  (
    connection: Connection,
    {
      hardwareIds,
      zoneTypes,
      publication,
    }: {
      hardwareIds: readonly string[]
      /** JSON array. */
      zoneTypes: string
      publication: Publication
    },
  ): null => {
    for (const hardwareId of hardwareIds)
      connection.run(
        `INSERT INTO zone_exempt (device_id, zone_types) SELECT device_id, ? FROM device WHERE hardware_id = ?
       ON CONFLICT DO UPDATE SET zone_types = excluded.zone_types`,
        zoneTypes,
        hardwareId,
      )
    storePublication(connection, publication)
    return null
  },
  { audit: null },
)
