import { migrate } from '../migrate.ts'
import { openForSetup } from '../writer/open.ts'
import { NewDatabase } from './new-database.ts'
import { withEarlier } from './old-database.ts'

/** Tables that a second course starts with; all others belong to the first one and its carts. */
const KEPT = ['device_type', 'device_group', 'group_config'] as const

/** Previous use of a database. */
export interface SiteBefore {
  /** Site of the hub that the database was replicated as; null if none. */
  site: string | null
  devices: number
}

/**
 * Creates a database at `path` for another course from the one at `from`, which no connection has open: with its device
 * types, groups, their configurations and the settings of the site except its name. It has a new identity for a hub,
 * and no record, event, device, user or key, so that no data of the first course can be sent under another name.
 */
export function createNewSite(from: string, path: string): SiteBefore {
  const old = openForSetup(from)
  try {
    migrate(old)
  } finally {
    old.close()
  }
  // checksums of the first course do not match the pages just written
  const created = new NewDatabase(path, false)
  const { tables } = created
  try {
    migrate(tables)
    return withEarlier(tables, from, () => {
      tables.db.transaction(() => {
        for (const table of KEPT) tables.run(`INSERT INTO ${table} SELECT * FROM earlier.${table}`)
        tables.run(
          "INSERT INTO site (only, settings, updated_at_ms) SELECT only, json_remove(settings, '$.name'), " +
            'updated_at_ms FROM earlier.site',
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
