// Without the schema library: reader and writer threads need these, and each would load a separate copy.

/**
 * Replicated streams, each with a separate cursor. `telemetry` contains samples in the order of the log; `history`
 * contains blocks of data sealed before its acknowledgement, in the order of `block_log`; `entities` is the change log.
 */
export const SYNC_STREAMS = ['notes', 'lock_events', 'geofence_events', 'entities', 'telemetry', 'history'] as const

/** Cursor of a stream that has never received data. */
export const NO_CURSOR = { seq: 0, hash: '0'.repeat(64) }

/** Tables whose rows are replicated by key: the body is the row at the time of sending, null if it was deleted. */
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
  'party',
  'service_entry',
  'service_plan',
] as const

/** Maximum number of an intent. A hub counts up from 1: only a hostile one comes close to it. */
export const MAX_INTENT_SEQ = 1_000_000_000_000
/**
 * Maximum number that a gateway stores as its last received one, so that a hub can always continue above the numbers of
 * a hostile one. Intents above it are identified by their ids.
 */
export const MAX_REMEMBERED_INTENT_SEQ = 100_000_000_000

/** `group_id` of an event of a site zone in storage and replication: no group has it, and older hubs require one. */
export const GROUP_ID_OF_SITE = 0
