import { JSON_BODY, type Sql } from './database/database.ts'

/** The latest state of a device, as the JSON that the gateway wrote. */
export interface SiteDeviceRow {
  site_id: string
  hardware_id: string
  body: string
}

/** Where in the order of sites and devices. */
export interface DevicePlace {
  readonly siteId: string
  readonly hardwareId: string
}

export interface SiteDeviceQuery {
  /** Null for all. */
  readonly siteIds: readonly string[] | null
  readonly hardwareIds: readonly string[] | undefined
  readonly deviceType: string | undefined
}

const DEVICE_TYPE = `${JSON_BODY} ->> 'device_type'`

/** The next devices behind a place, by site and hardware id. */
export function devicesBehind(
  sql: Sql,
  { siteIds, hardwareIds, deviceType }: SiteDeviceQuery,
  after: DevicePlace,
  limit: number,
): Promise<SiteDeviceRow[]> {
  const values = [after.siteId, after.hardwareId, limit, deviceType ?? null]
  const lists = [siteIds ?? undefined, hardwareIds].filter((list) => list !== undefined)
  const inSites = siteIds === null ? '' : 'AND site_id = ANY($5)'
  const ofDevices = hardwareIds === undefined ? '' : `AND hardware_id = ANY($${4 + lists.length})`
  return sql.all<SiteDeviceRow>(
    `SELECT site_id, hardware_id, body FROM site_latest
     WHERE (site_id, hardware_id) > ($1, $2) ${inSites} ${ofDevices}
       AND (CAST($4 AS TEXT) IS NULL OR ${DEVICE_TYPE} = $4)
     ORDER BY site_id, hardware_id LIMIT $3`,
    [...values, ...lists],
  )
}

/** A device by its hardware id, else by its short id. */
export async function findSiteDevice(
  sql: Sql,
  siteId: string,
  id: string,
): Promise<SiteDeviceRow | undefined> {
  const found = await sql.get<SiteDeviceRow>(
    'SELECT site_id, hardware_id, body FROM site_latest WHERE site_id = $1 AND hardware_id = $2',
    [siteId, id],
  )
  if (found !== undefined) return found
  return sql.get<SiteDeviceRow>(
    `SELECT site_id, hardware_id, body FROM site_latest
     WHERE site_id = $1 AND ${JSON_BODY} ->> 'short_id' = $2 ORDER BY hardware_id LIMIT 1`,
    [siteId, id],
  )
}
