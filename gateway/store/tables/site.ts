import { DEFAULT_SITE_SETTINGS, type SiteSettings } from '#shared/site/settings.ts'
import { patchSiteSettings, toSiteSettingsJson } from '#shared/wire/site-json.ts'
import { differences, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'

export const siteTable = table('site', {
  care: {
    what: 'the settings of the site',
    isRemembered: true,
    meaning: 'They are the defaults until an admin sets them again.',
  },
  json: {
    settings: { type: 'object', cure: 'delete' },
  },
  replicated: {
    columns: ['settings', 'updated_at_ms'],
    times: ['updated_at_ms'],
    key: "'site'",
    where: 't.only = 1 AND ? IS NOT NULL',
  },
})

/** Stored settings of the course, with defaults for the rest. */
export function siteSettings(connection: Connection): SiteSettings {
  const row = connection.get<{ settings: string }>('SELECT settings FROM site')
  return row === undefined ? DEFAULT_SITE_SETTINGS : patchSiteSettings(DEFAULT_SITE_SETTINGS, JSON.parse(row.settings))
}

export const saveSite = write(
  (connection: Connection, { settings, nowMs }: { settings: SiteSettings; nowMs: number }): null => {
    connection.run(
      `INSERT INTO site (only, settings, updated_at_ms) VALUES (1, ?, ?)
     ON CONFLICT DO UPDATE SET settings = excluded.settings, updated_at_ms = excluded.updated_at_ms`,
      JSON.stringify(toSiteSettingsJson(settings)),
      nowMs,
    )
    return null
  },
  {
    // only the fields that changed
    audit: (connection) => {
      const before = toSiteSettingsJson(siteSettings(connection))
      return () => {
        const [old, now] = differences(before, toSiteSettingsJson(siteSettings(connection)))
        return now === null ? [] : [{ action: 'site.updated', target: 'site', before: old, after: now }]
      }
    },
  },
)
