import type { SyncIdentity } from '#shared/sync-source.ts'
import { NO_CURSOR } from '#shared/wire/replication/replicated.ts'
import type { SyncCursor, SyncCursors, SyncStream } from '#shared/wire/replication/sync.ts'
import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'

export function syncIdentity(connection: Connection): SyncIdentity {
  const row = connection.get<{ epoch: string; site: string | null; forkedJson: string | null }>(
    'SELECT epoch, site, forked_from AS forkedJson FROM sync_identity',
  )
  if (row === undefined) throw new Error('the database has no identity')
  const { epoch, site, forkedJson } = row
  return { epoch, site, forkedFrom: forkedJson === null ? null : JSON.parse(forkedJson) }
}

/** Last acknowledged position of the hub in each stream. */
export function syncCursors(connection: Connection): SyncCursors {
  const cursors = noCursors()
  const rows = connection.all<SyncCursor & { stream: SyncStream }>('SELECT stream, seq, hash FROM sync_cursor')
  for (const { stream, seq, hash } of rows) cursors[stream] = { seq, hash }
  return cursors
}

/** Sets the site under which this database is replicated. Throws if it belongs to another site already. */
export const claimSite = write(
  (connection: Connection, { site }: { site: string }): SyncIdentity => {
    connection.run('UPDATE sync_identity SET site = ? WHERE site IS NULL', site)
    const identity = syncIdentity(connection)
    if (identity.site !== site) throw new Error(`the database is replicated as site ${identity.site}`)
    return identity
  },
  { audit: null },
)

/** Starts a new epoch: the database is a new one to the hub, and all cursors begin at zero. */
export const forkEpoch = write(
  (connection: Connection, { reason }: { reason: string }): SyncIdentity => {
    const { epoch } = syncIdentity(connection)
    connection.run(
      'UPDATE sync_identity SET epoch = lower(hex(randomblob(16))), forked_from = ?',
      JSON.stringify({ epoch, reason }),
    )
    connection.run('DELETE FROM sync_cursor')
    return syncIdentity(connection)
  },
  { audit: null },
)

function noCursors(): SyncCursors {
  return {
    notes: NO_CURSOR,
    lock_events: NO_CURSOR,
    geofence_events: NO_CURSOR,
    entities: NO_CURSOR,
    telemetry: NO_CURSOR,
    history: NO_CURSOR,
  }
}
