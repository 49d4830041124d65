import { type ZonesJson, zoneSetBodySchema } from '#shared/wire/zones.ts'
import { withSwitches } from '#shared/wire/zones-json.ts'
import type { Sql } from './database/database.ts'

/** Returns the zones of a site for all its groups; none at version 0 if the site has sent none or unreadable ones. */
export async function siteZonesOf(sql: Sql, siteId: string): Promise<ZonesJson> {
  const row = await sql.get<{ body: string }>(
    `SELECT body FROM entity WHERE site_id = $1 AND entity_table = 'zone_set' AND body IS NOT NULL`,
    [siteId],
  )
  const parsed = zoneSetBodySchema.safeParse(JSON.parse(row?.body ?? 'null'))
  const { version, zones, switches } = parsed.success ? parsed.data : { version: 0, zones: [], switches: {} }
  return { type: 'FeatureCollection', version, features: withSwitches(zones, switches) }
}
