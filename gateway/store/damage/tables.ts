/** What is done when a table, or one of its indexes, is not on the disk as it was written. */
export interface TableCare {
  /** What is in it, for people. */
  readonly what: string
  /**
   * small: checked whole at the start. large: checked when something stumbled over it. huge: as large, but too much to
   * be copied while devices wait: its indexes are made anew, and reads go round its bad pages.
   */
  readonly size: 'small' | 'large' | 'huge'
  /** Its rows say themselves whether they are right: they are copied in spite of a wrong checksum of their page. */
  readonly hasOwnSums?: true
  /** What it means when rows of it are missing. */
  readonly meaning: string
  /** The gateway has its rows in memory: while it runs the table is begun anew only if none of them is missing. */
  readonly isRemembered?: true
  /** What makes the database consistent again when rows are missing, in the transaction that begins the table anew. */
  readonly afterLoss?: readonly string[]
  /** Columns that a start parses. */
  readonly json?: readonly JsonColumn[]
}

export interface JsonColumn {
  readonly column: string
  /** Which JSON it must be. */
  readonly type: 'object' | 'array'
  /** A condition for the rows that are parsed; all unless told. */
  readonly where?: string
  /** What is done with a row that is something else, after a copy of it was put aside. */
  readonly cure: { set: string } | 'delete'
}

/** More than is given to rows in any time between two backups: a number that was lost is not given again. */
export const NUMBERS_LEFT_OUT = 1_000_000

const REPEATED = 'What is missing comes back when it is sent again.'
const COMPARED = 'The head office finds what it was not told when it compares.'
const LOG_NUMBER = `max(ifnull((SELECT max(first_seq) FROM telemetry_log), 0),
  ifnull((SELECT max(seq) FROM sync_cursor WHERE stream = 'telemetry'), 0),
  ifnull((SELECT max(telemetry_seq) FROM erase_mark), 0))`
const EXTRA: JsonColumn = { column: 'extra', type: 'object', cure: { set: 'extra = NULL' } }

/**
 * Every table of the database, in the order in which they are put right: what others are completed from comes first.
 * Of all of them what can be read is kept.
 */
export const TABLES: Readonly<Record<string, TableCare>> = {
  sqlite_sequence: {
    what: 'the last number given in each table',
    size: 'small',
    meaning: 'Numbers go on far above any that may have been given.',
  },
  migration: {
    what: 'which programs brought the database to its schema',
    size: 'small',
    meaning: 'A program that is too old for it cannot say which to install.',
  },
  sync_identity: {
    what: 'as what the head office knows this gateway',
    size: 'small',
    isRemembered: true,
    meaning: 'The head office takes the gateway for another one until its site is set up again.',
    afterLoss: ['INSERT OR IGNORE INTO sync_identity (only, epoch) VALUES (1, lower(hex(randomblob(16))))'],
    json: [{ column: 'forked_from', type: 'object', cure: { set: 'forked_from = NULL' } }],
  },
  sync_cursor: {
    what: 'how far the head office has everything',
    size: 'small',
    meaning: 'The head office is asked what it has, and compares.',
  },
  erase_mark: {
    what: 'where the data of deleted devices ends for the head office',
    size: 'small',
    meaning: 'A deletion may reach the head office after later records.',
  },
  device: {
    what: 'the devices',
    size: 'small',
    isRemembered: true,
    meaning:
      'Devices that are missing cannot log in until they are registered again; their history is not shown.',
  },
  device_state: {
    what: 'the latest state of the devices',
    size: 'small',
    meaning: `Devices that are missing in it show no state until they send the next one, and their records are not counted. ${REPEATED}`,
    afterLoss: [
      `INSERT OR IGNORE INTO device_state (device_id, latest, updated_at_ms)
         SELECT device_id, '{}', updated_at_ms FROM device`,
    ],
    json: [
      { column: 'latest', type: 'object', cure: { set: "latest = '{}'" } },
      { column: 'watch', type: 'object', cure: { set: 'watch = NULL' } },
    ],
  },
  removed_device: {
    what: 'the ids of devices that were taken off the register',
    size: 'small',
    isRemembered: true,
    meaning: 'A device that is missing in it can enrol again with the shared key.',
  },
  telemetry_deletion: {
    what: 'deleted devices whose telemetry is still to go',
    size: 'small',
    meaning: 'The telemetry of a deleted device may stay until it is too old.',
  },
  user: {
    what: 'the users and their API keys',
    size: 'small',
    isRemembered: true,
    meaning: 'Users who are missing cannot log in until an admin makes them anew.',
    json: [{ column: 'allowed_hardware_ids', type: 'array', cure: { set: "allowed_hardware_ids = '[]'" } }],
  },
  session: {
    what: 'the browsers that are signed in',
    size: 'small',
    isRemembered: true,
    meaning: 'Those that are missing sign in again.',
  },
  device_type: {
    what: 'the device types that were added here',
    size: 'small',
    isRemembered: true,
    meaning: 'Types that are missing must be added again.',
    json: [
      { column: 'defaults', type: 'object', cure: 'delete' },
      { column: 'config_schema', type: 'object', cure: 'delete' },
      { column: 'commands', type: 'object', cure: 'delete' },
    ],
  },
  device_group: {
    what: 'the groups',
    size: 'small',
    isRemembered: true,
    meaning:
      'Groups that are missing and have devices or zones are there again under a name made of their number.',
    afterLoss: [
      `INSERT OR IGNORE INTO device_group (group_id, name, created_at_ms, updated_at_ms)
         SELECT group_id, 'Group ' || group_id, at_ms, at_ms FROM (
           SELECT group_id, max(updated_at_ms) AS at_ms FROM device WHERE group_id IS NOT NULL GROUP BY group_id
           UNION ALL SELECT group_id, max(updated_at_ms) FROM geofence_set WHERE zones <> '[]' GROUP BY group_id)`,
    ],
  },
  group_config: {
    what: 'the configuration of groups',
    size: 'small',
    isRemembered: true,
    meaning: 'Where it is missing, devices get the defaults of their type.',
    json: [{ column: 'config', type: 'object', cure: 'delete' }],
  },
  device_config: {
    what: 'the configuration of single devices',
    size: 'small',
    isRemembered: true,
    meaning: 'Where it is missing, devices get the configuration of their group.',
    json: [{ column: 'config', type: 'object', cure: 'delete' }],
  },
  config_version: {
    what: 'the last version of a configuration',
    size: 'small',
    isRemembered: true,
    meaning: 'Versions go on above all that devices were told.',
    afterLoss: [
      `INSERT OR IGNORE INTO config_version (config_version_id, version)
         SELECT 1, 1000 + ifnull(max(iif(json_valid(body), json_extract(body, '$.v'), 0)), 0)
         FROM (SELECT CAST(payload AS TEXT) AS body FROM mqtt_retained WHERE topic LIKE 'dev/%/cfg')`,
    ],
  },
  geofence_set: {
    what: 'the zones',
    size: 'small',
    isRemembered: true,
    meaning: 'Zones that are missing must be drawn again; carts keep those they have until then.',
    json: [{ column: 'zones', type: 'array', cure: { set: "zones = '[]', version = version + 1" } }],
  },
  zone_version: {
    what: 'the last sets of zones of the site',
    size: 'small',
    meaning: 'Sets that are missing cannot be put in force again.',
  },
  zone_set: {
    what: 'the zones of the site',
    size: 'small',
    isRemembered: true,
    meaning:
      'If they are missing, the last set that people made is in force again, with nothing switched; carts keep what they have until then.',
    afterLoss: [
      `INSERT OR IGNORE INTO zone_set (only, version, updated_at_ms, zones)
         SELECT 1, version + 1, at_ms, zones FROM zone_version ORDER BY version DESC LIMIT 1`,
    ],
    json: [
      { column: 'zones', type: 'array', cure: { set: "zones = '[]', version = version + 1" } },
      { column: 'switches', type: 'object', cure: { set: "switches = '{}', version = version + 1" } },
    ],
  },
  site: {
    what: 'the settings of the site',
    size: 'small',
    isRemembered: true,
    meaning: 'They are the defaults until an admin sets them again.',
    json: [{ column: 'settings', type: 'object', cure: 'delete' }],
  },
  course: {
    what: 'the drawing of the course',
    size: 'small',
    isRemembered: true,
    meaning: 'The map shows zones and carts only, until an admin uploads it again.',
  },
  course_photo: {
    what: 'the photo of the course',
    size: 'large',
    isRemembered: true,
    meaning: 'The map shows no photo until an admin uploads it again.',
    json: [{ column: 'corners', type: 'array', cure: 'delete' }],
  },
  course_piece: {
    what: 'the photo and a large drawing of the course, in pieces',
    size: 'large',
    isRemembered: true,
    meaning: 'The one of which pieces are missing is not shown until an admin uploads it again.',
  },
  closed_day: {
    what: 'the day of which the closing time was told last',
    size: 'small',
    meaning: 'Of a closing time that was an hour ago or less people may be told again.',
  },
  cart_motion: {
    what: 'how carts moved',
    size: 'small',
    meaning: 'It is worked out anew from their newest positions.',
    json: [{ column: 'motion', type: 'object', cure: 'delete' }],
  },
  cart_note: {
    what: 'what people said of carts',
    size: 'small',
    isRemembered: true,
    meaning:
      'Carts that are missing are in service and may not drive where others may not, until staff say so again.',
    json: [
      { column: 'out_of_service', type: 'object', cure: { set: 'out_of_service = NULL' } },
      { column: 'exempt', type: 'object', cure: { set: 'exempt = NULL' } },
    ],
  },
  zone_exempt: {
    what: 'which devices were told of zones that their carts may be in',
    size: 'small',
    isRemembered: true,
    meaning: 'They are told again while it holds.',
    json: [{ column: 'zone_types', type: 'array', cure: { set: "zone_types = '[]'" } }],
  },
  pin_tries: {
    what: 'how often PINs were wrong',
    size: 'small',
    isRemembered: true,
    meaning: 'People whose row is missing have all their tries again after the next start.',
    json: [{ column: 'wrong', type: 'array', cure: 'delete' }],
  },
  recall: {
    what: 'whether all carts are called in',
    size: 'small',
    isRemembered: true,
    meaning: 'Call them in again if they are to come in.',
    json: [{ column: 'scope', type: 'array', where: 'scope IS NOT NULL', cure: { set: "scope = '[]'" } }],
  },
  recall_message: {
    what: 'which screens were told that all carts are called in',
    size: 'small',
    isRemembered: true,
    meaning: 'Screens that are missing are told again after the next start.',
  },
  webhook: {
    what: 'the webhooks',
    size: 'small',
    isRemembered: true,
    meaning: 'Webhooks that are missing are told of nothing until an admin makes them anew.',
    json: [{ column: 'kinds', type: 'array', cure: { set: 'kinds = NULL' } }],
  },
  notifier: {
    what: 'the notifiers',
    size: 'small',
    isRemembered: true,
    meaning: 'Notifiers that are missing tell nobody until an admin makes them anew.',
    json: [
      { column: 'kinds', type: 'array', cure: { set: 'kinds = NULL' } },
      { column: 'hours', type: 'array', cure: { set: 'hours = NULL' } },
    ],
  },
  delivery: {
    what: 'what webhooks and notifiers are still to be told',
    size: 'small',
    meaning: 'They are not told of what is missing; the alerts themselves are there.',
    json: [
      { column: 'targets', type: 'object', cure: 'delete' },
      { column: 'body', type: 'object', cure: 'delete' },
    ],
  },
  secret: {
    what: 'what the gateway signs with',
    size: 'small',
    isRemembered: true,
    meaning: 'It is made anew; download links from before are not accepted.',
  },
  clock_mark: {
    what: 'what time it was last',
    size: 'small',
    meaning: 'It is taken from the devices.',
    afterLoss: [
      `INSERT OR IGNORE INTO clock_mark (clock_mark_id, at_ms)
         SELECT 1, ifnull(max(updated_at_ms), 0) FROM device_state`,
    ],
  },
  machine: {
    what: 'which machine the gateway runs on',
    size: 'small',
    meaning: 'The next start takes the machine that it finds.',
    json: [{ column: 'signs', type: 'object', cure: 'delete' }],
  },
  mqtt_session: {
    what: 'the sessions of MQTT clients',
    size: 'small',
    meaning: 'Clients that are missing begin a new session when they connect next.',
  },
  mqtt_subscription: {
    what: 'the subscriptions of MQTT clients',
    size: 'small',
    meaning: 'Clients that are missing get nothing until they subscribe again.',
    json: [EXTRA],
  },
  mqtt_queued: {
    what: 'messages that wait for an MQTT client',
    size: 'small',
    meaning: 'Messages that are missing do not reach their client.',
    json: [EXTRA],
  },
  mqtt_received: {
    what: 'which QoS 2 messages were taken',
    size: 'small',
    meaning: 'A message may be delivered twice.',
    json: [EXTRA],
  },
  mqtt_retained: {
    what: 'the retained messages',
    size: 'small',
    meaning: 'Configurations and zones are published anew at the start; others when they are sent again.',
    json: [EXTRA],
  },
  mqtt_will: {
    what: 'the last wills of MQTT clients',
    size: 'small',
    meaning: 'A last will that is missing is not published.',
    json: [EXTRA],
  },
  telemetry_log_end: {
    what: 'the last number of the telemetry log',
    size: 'small',
    meaning: 'Numbers go on far above any that may have been given.',
    afterLoss: [
      // of what is in the log nothing is counted twice
      `INSERT OR IGNORE INTO telemetry_log_end (only, next_seq, cuts, saved_seq)
         VALUES (1, ${LOG_NUMBER} + ${NUMBERS_LEFT_OUT}, unixepoch(),
           ifnull((SELECT max(first_seq) FROM telemetry_log), 0))`,
    ],
  },
  state_change: {
    what: 'the newest states of devices that sent nothing else',
    size: 'small',
    hasOwnSums: true,
    meaning: `Devices that are missing in it show their state of up to a minute before. ${REPEATED}`,
  },
  telemetry_log: {
    what: 'the newest telemetry',
    size: 'small',
    hasOwnSums: true,
    meaning: `Records of the last minutes are missing. ${REPEATED}`,
    afterLoss: [
      `UPDATE telemetry_log_end
         SET next_seq = max(next_seq, ${LOG_NUMBER}) + ${NUMBERS_LEFT_OUT}, cuts = cuts + 1`,
    ],
  },
  command_count: {
    what: 'the number of commands',
    size: 'small',
    meaning: 'They were counted again.',
    afterLoss: [
      'INSERT OR REPLACE INTO command_count (command_count_id, commands) SELECT 1, count(*) FROM command',
    ],
  },
  intent_inbox: {
    what: 'wishes of the head office that were received',
    size: 'small',
    meaning: 'A wish may be fulfilled a second time.',
  },
  note: {
    what: 'what the head office is to be told',
    size: 'small',
    meaning: `${COMPARED}`,
  },
  command: {
    what: 'the commands',
    size: 'large',
    meaning: 'Commands that are missing are not sent any more, and not listed.',
    afterLoss: [
      'INSERT OR REPLACE INTO command_count (command_count_id, commands) SELECT 1, count(*) FROM command',
    ],
    json: ['params', 'metadata', 'late_ack'].map((column) => ({
      column,
      type: 'object',
      where: "status IN ('pending', 'published', 'acknowledged')",
      cure: {
        set: `status = 'failed', error = 'damaged', params = '{}', metadata = NULL, late_ack = NULL,
          completed_at_ms = ifnull(acknowledged_at_ms, ifnull(published_at_ms, created_at_ms))`,
      },
    })),
  },
  closing: {
    what: 'on which days the carts were locked at closing time',
    size: 'small',
    meaning:
      'If closing time was within the last hour, carts in their parking zone may be locked a second time.',
    json: [{ column: 'waiting', type: 'array', cure: { set: "waiting = '[]'" } }],
  },
  idempotency_key: {
    what: 'which requests were made already',
    size: 'large',
    meaning: 'A request that is repeated may be performed twice.',
  },
  lock_event: {
    what: 'the lock events',
    size: 'large',
    meaning: 'Lock events that are missing are in no list.',
  },
  geofence_event: {
    what: 'the zone events',
    size: 'large',
    meaning: 'Zone events that are missing are in no list.',
  },
  audit_entry: {
    what: 'the audit log',
    size: 'large',
    meaning: 'Entries that are missing are in no list.',
  },
  alert: {
    what: 'the alerts',
    size: 'large',
    meaning: 'Alerts that are missing are in no list; those whose reason goes on are opened again.',
    json: [
      { column: 'details', type: 'object', cure: { set: "details = '{}'" } },
      {
        column: 'acknowledged_by',
        type: 'object',
        where: 'acknowledged_by IS NOT NULL',
        cure: { set: 'acknowledged_by = NULL' },
      },
    ],
  },
  change_log: {
    what: 'which changes the head office is to be told',
    size: 'large',
    meaning: `It is told of all rows again. ${COMPARED}`,
    afterLoss: [
      `INSERT OR IGNORE INTO change_log (entity, key)
         SELECT 'device_group', CAST(group_id AS TEXT) FROM device_group
         UNION ALL SELECT 'device_type', name FROM device_type
         UNION ALL SELECT 'device', hardware_id FROM device
         UNION ALL SELECT 'group_config', group_id || '/' || device_type FROM group_config
         UNION ALL SELECT 'device_config', hardware_id FROM device_config JOIN device USING (device_id)
         UNION ALL SELECT 'geofence_set', CAST(group_id AS TEXT) FROM geofence_set
         UNION ALL SELECT 'site', 'site' FROM site
         UNION ALL SELECT 'course', 'site' FROM course
         UNION ALL SELECT 'course_piece', printf('%s/%04d', hash, number) FROM course_piece
         UNION ALL SELECT 'zone_set', 'site' FROM zone_set
         UNION ALL SELECT 'cart_note', cart FROM cart_note
         UNION ALL SELECT 'user', user_id FROM user
         UNION ALL SELECT 'alert', alert_id FROM alert`,
    ],
  },
  block_log: {
    what: 'which blocks of telemetry the head office is to get',
    size: 'large',
    meaning: `${COMPARED}`,
  },
  quarantine: {
    what: 'payloads that could not be read',
    size: 'large',
    meaning: 'Some of them are not shown any more.',
  },
  damaged_block: {
    what: 'blocks of telemetry that were put aside as damaged',
    size: 'huge',
    meaning: 'Some of them cannot be repaired.',
  },
  hidden_block: {
    what: 'blocks of tables that were set aside and are not read any more',
    size: 'small',
    isRemembered: true,
    meaning: 'Deleted telemetry may be shown again until it is too old.',
  },
  telemetry_block: {
    what: 'the history of positions and voltages',
    size: 'huge',
    hasOwnSums: true,
    meaning: 'Records on the damaged pages are left out of histories and trips.',
  },
}
