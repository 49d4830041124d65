import type { Registration } from '#shared/registrations.ts'
import { parseIso } from '#shared/time.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'
import { JSON_BODY, type Sql, type SqlValue } from './database/database.ts'

/** Latest state of a device, as the JSON that the gateway wrote. */
export interface SiteDeviceRow {
  site_id: string
  hardware_id: string
  body: string
}

/** Position in the order of sites and devices. */
export interface DevicePlace {
  readonly siteId: string
  readonly hardwareId: string
}

export interface SiteDeviceQuery {
  /** Null selects all sites. */
  readonly siteIds: readonly string[] | null
  readonly hardwareIds: readonly string[] | undefined
  /** Required values of fields of the device; field names are constants, never from a caller. */
  readonly fields: Readonly<Record<string, string | number | undefined>>
  readonly order: ListOrder
}

/** Returns the next devices after a position, by site and hardware id; null is the beginning. */
export function devicesAfter(
  sql: Sql,
  { siteIds, hardwareIds, fields, order }: SiteDeviceQuery,
  after: DevicePlace | null,
  limit: number,
): Promise<SiteDeviceRow[]> {
  const values: SqlValue[] = []
  const put = (value: SqlValue) => `$${values.push(value)}`
  const conditions: string[] = []
  if (after !== null) {
    const place = `(${put(after.siteId)}, ${put(after.hardwareId)})`
    conditions.push(`(site_id, hardware_id) ${order === 'asc' ? '>' : '<'} ${place}`)
  }
  if (siteIds !== null) conditions.push(`site_id = ANY(${put(siteIds.map(storable))})`)
  if (hardwareIds !== undefined) conditions.push(`hardware_id = ANY(${put(hardwareIds.map(storable))})`)
  for (const [name, value] of Object.entries(fields))
    if (value !== undefined) conditions.push(`${JSON_BODY} ->> '${name}' = ${put(storable(String(value)))}`)
  return sql.all<SiteDeviceRow>(
    `SELECT site_id, hardware_id, body FROM site_latest
     ${conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`}
     ORDER BY site_id ${order}, hardware_id ${order} LIMIT ${put(limit)}`,
    values,
  )
}

/** Converts a searched text to one that the database accepts; JSON_BODY replaces U+0000 in the same way. */
function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd')
}

/** Returns the current registrations of these hardware ids at a site, as last reported by its gateway. */
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

/** Finds a device by its hardware id, else by its short id. */
export async function findSiteDevice(sql: Sql, siteId: string, id: string): Promise<SiteDeviceRow | undefined> {
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
