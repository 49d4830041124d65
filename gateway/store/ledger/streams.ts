import type { SyncStream } from '#shared/wire/replication/sync.ts'

/** Table whose AUTOINCREMENT numbers are the positions of a stream; samples have numbers of their own. */
export const STREAM_TABLES = {
  notes: 'note',
  lock_events: 'lock_event',
  geofence_events: 'geofence_event',
  entities: 'change_log',
  history: 'block_log',
} as const satisfies Partial<Record<SyncStream, string>>
