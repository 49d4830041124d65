import { DEFAULT_SITE_SETTINGS, type SiteSettings } from '#shared/site/settings.ts'
import { siteBodySchema } from '#shared/wire/site.ts'
import { patchSiteSettings } from '#shared/wire/site-json.ts'
import type { Sql } from './database/database.ts'

/** Returns the course settings of a site, or the defaults if they are missing or unreadable. */
export async function siteSettingsOf(sql: Sql, siteId: string): Promise<SiteSettings> {
  const row = await sql.get<{ body: string }>(
    `SELECT body FROM entity WHERE site_id = $1 AND entity_table = 'site' AND body IS NOT NULL`,
    [siteId],
  )
  const parsed = siteBodySchema.safeParse(JSON.parse(row?.body ?? 'null'))
  return parsed.success ? patchSiteSettings(DEFAULT_SITE_SETTINGS, parsed.data.settings) : DEFAULT_SITE_SETTINGS
}
