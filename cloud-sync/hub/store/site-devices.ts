import type { Registration } from '#shared/registrations.ts'
import { parseIso } from '#shared/time.ts'
import type { ListOrder } from '#shared/wire/params.ts'
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
  readonly order: ListOrder
}

const DEVICE_TYPE = `${JSON_BODY} ->> 'device_type'`

/** The next devices behind a place, by site and hardware id; null is the beginning. */
export function devicesBehind(
  sql: Sql,
  { siteIds, hardwareIds, deviceType, order }: SiteDeviceQuery,
  after: DevicePlace | null,
  limit: number,
): Promise<SiteDeviceRow[]> {
  const values = [after?.siteId ?? null, after?.hardwareId ?? null, limit, deviceType ?? null]
  const lists = [siteIds ?? undefined, hardwareIds].filter((list) => list !== undefined)
  const inSites = siteIds === null ? '' : 'AND site_id = ANY($5)'
  const ofDevices = hardwareIds === undefined ? '' : `AND hardware_id = ANY($${4 + lists.length})`
  return sql.all<SiteDeviceRow>(
    `SELECT site_id, hardware_id, body FROM site_latest
     WHERE (CAST($1 AS TEXT) IS NULL OR (site_id, hardware_id) ${order === 'asc' ? '>' : '<'} ($1, CAST($2 AS TEXT))) ${inSites} ${ofDevices}
       AND (CAST($4 AS TEXT) IS NULL OR ${DEVICE_TYPE} = $4)
     ORDER BY site_id ${order}, hardware_id ${order} LIMIT $3`,
    [...values, ...lists],
  )
}

/** The registrations that these hardware ids have at a site now, as its gateway last reported them. */
export async function registrationsOf(
  sql: Sql,
  siteId: string,
  hardwareIds: readonly string[],
): Promise<Map<string, Registration>> {
  const rows = await sql.all<{ hardwareId: string; shortId: string | null; createdAt: string | null }>(
    `SELECT hardware_id AS "hardwareId", ${JSON_BODY} ->> 'short_id' AS "shortId",
       ${JSON_BODY} ->> 'created_at' AS "createdAt"
     FROM site_latest WHERE site_id = $1 AND hardware_id = ANY($2)`,
    [siteId, [...new Set(hardwareIds)]],
  )
  return new Map(
    rows.map(({ hardwareId, shortId, createdAt }) => {
      return [hardwareId, { shortId: shortId ?? '', sinceMs: parseIso(createdAt ?? '') ?? 0 }]
    }),
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
