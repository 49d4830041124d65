// Without the schema library: threads that write and read need these, and each would load its own copy of it.

/**
 * What is replicated, each with a cursor of its own. `telemetry` are samples in the order of the log; `history` are
 * blocks of what was sealed before it was acknowledged, in the order of `block_log`; `entities` is the change log.
 */
export const SYNC_STREAMS = ['notes', 'lock_events', 'geofence_events', 'entities', 'telemetry', 'history'] as const

/** What a stream that never got anything is at. */
export const NO_CURSOR = { seq: 0, hash: '0'.repeat(64) }

/** Tables whose rows are replicated by key: the body is what the row is when it is sent, null when it is gone. */
export const ENTITY_TABLES = [
  'device',
  'device_group',
  'device_type',
  'group_config',
  'device_config',
  'geofence_set',
  'user',
  'command',
  'audit_entry',
  'site',
  'alert',
  'zone_set',
  'cart_note',
  'course',
  'course_piece',
] as const

/** The highest number of an intent. A head office counts up from 1: only a hostile one comes near it. */
export const MAX_INTENT_SEQ = 1_000_000_000_000
/**
 * A gateway remembers no number above this as the one it has had, so that a hub can always go on above what a hostile
 * one sent. Intents above it are known by their ids.
 */
export const MAX_REMEMBERED_INTENT_SEQ = 100_000_000_000

/**
 * The `group_id` of an event of a zone of the site where it is kept and sent on: no group has this number, and older
 * hubs want one.
 */
export const GROUP_ID_OF_SITE = 0
