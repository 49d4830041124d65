import { migrate } from '../migrate.ts'
import { openForSetup } from '../writer/open.ts'
import { NewDatabase } from './new-database.ts'
import { withEarlier } from './old-database.ts'

/** What a second course begins with; all else belongs to the first one and its carts. */
const KEPT = ['device_type', 'device_group', 'group_config'] as const

/** What a database was used for. */
export interface SiteBefore {
  /** The site of the head office that it was replicated as; null for none. */
  site: string | null
  devices: number
}

/**
 * Makes a database at `path` for another course from the one at `from`, which nobody has open: with its device types,
 * groups, their configurations and the settings of the site but its name. It has an identity of its own to a head
 * office, and no record, event, device, user or key, so that nothing of the first course can ever be sent under another
 * name.
 */
export function createNewSite(from: string, path: string): SiteBefore {
  const old = openForSetup(from)
  try {
    migrate(old)
  } finally {
    old.close()
  }
  // those of the first course do not fit what was just written to it
  const created = new NewDatabase(path, false)
  const { tables } = created
  try {
    migrate(tables)
    return withEarlier(tables, from, () => {
      tables.db.transaction(() => {
        for (const table of KEPT) tables.run(`INSERT INTO ${table} SELECT * FROM earlier.${table}`)
        tables.run(
          `INSERT INTO site (only, settings, updated_at_ms) SELECT only, json_remove(settings, '$.name'), updated_at_ms FROM earlier.site`,
        )
      })()
      const before = tables.get<SiteBefore>(
        'SELECT (SELECT site FROM earlier.sync_identity) AS site, (SELECT count(*) FROM earlier.device) AS devices',
      )
      return before ?? { site: null, devices: 0 }
    })
  } finally {
    created.close()
  }
}
