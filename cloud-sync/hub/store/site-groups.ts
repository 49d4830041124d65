import { type DeviceGroupBody, deviceGroupBodySchema } from '#shared/wire/replication/sync.ts'
import { JSON_BODY, type Sql } from './database/database.ts'

export interface SiteGroup {
  readonly groupId: number
  readonly name: string
  readonly deviceCount: number
  readonly geofenceVersion: number
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** Lists groups by group_id. Rows of an earlier program that fit no schema are omitted. */
export async function listSiteGroups(sql: Sql, siteId: string): Promise<SiteGroup[]> {
  const [groups, devices, zones] = await Promise.all([
    groupsOf(sql, siteId),
    sql.all<{ group_id: string; count: number }>(
      `SELECT ${JSON_BODY} ->> 'group_id' AS group_id, COUNT(*) AS count FROM entity
       WHERE site_id = $1 AND entity_table = 'device' AND body IS NOT NULL GROUP BY 1`,
      [siteId],
    ),
    sql.all<{ group_id: string; version: string }>(
      `SELECT entity_key AS group_id, ${JSON_BODY} ->> 'version' AS version FROM entity
       WHERE site_id = $1 AND entity_table = 'geofence_set' AND body IS NOT NULL`,
      [siteId],
    ),
  ])
  const counts = new Map(devices.map(({ group_id, count }) => [group_id, count]))
  const versions = new Map(zones.map(({ group_id, version }) => [group_id, versionOf(version)]))
  return groups
    .map((group) => ({
      groupId: group.group_id,
      name: group.name,
      deviceCount: counts.get(String(group.group_id)) ?? 0,
      geofenceVersion: versions.get(String(group.group_id)) ?? 0,
      createdAtMs: group.created_at_ms,
      updatedAtMs: group.updated_at_ms,
    }))
    .sort((a, b) => a.groupId - b.groupId)
}

async function groupsOf(sql: Sql, siteId: string): Promise<DeviceGroupBody[]> {
  const rows = await sql.all<{ body: string }>(
    `SELECT body FROM entity WHERE site_id = $1 AND entity_table = 'device_group' AND body IS NOT NULL`,
    [siteId],
  )
  return rows.flatMap(({ body }) => deviceGroupBodySchema.safeParse(JSON.parse(body)).data ?? [])
}

function versionOf(text: string): number {
  const version = Number(text)
  return Number.isSafeInteger(version) ? version : 0
}
