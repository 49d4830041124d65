import { cartCallTable } from '../calls/cart-calls.ts'
import { type Table, table } from '../db/table.ts'
import { mailReportTable } from '../mail-reports/mail-reports.ts'
import { nameDeletionTable, partyTable } from '../parties/parties.ts'
import { serviceEntryTable, servicePlanTable } from '../service/service.ts'
import { cartUsageTable, serviceDaysTable } from '../service/usage.ts'
import { alertTable, closedDayTable } from './alerts.ts'
import { auditEntryTable } from './audit-log.ts'
import { cartMotionTable } from './cart-motion.ts'
import { cartNoteTable } from './cart-notes.ts'
import { clockMarkTable } from './clock-mark.ts'
import { closingTable } from './closing.ts'
import { commandCountTable, commandTable } from './commands.ts'
import { coursePhotoTable, courseTable } from './course.ts'
import { courseChunkTable } from './course-chunks.ts'
import { migrationTable, sqliteSequenceTable } from './database.ts'
import { configVersionTable, deviceConfigTable, groupConfigTable } from './device-configs.ts'
import { deviceTypeTable } from './device-types.ts'
import { deviceStateTable, deviceTable, removedDeviceTable } from './devices.ts'
import { geofenceEventTable } from './geofence-events.ts'
import { geofenceSetTable } from './geofences.ts'
import { deviceGroupTable } from './groups.ts'
import { idempotencyKeyTable } from './idempotency-keys.ts'
import {
  blockLogTable,
  eraseMarkTable,
  intentInboxTable,
  noteTable,
  syncCursorTable,
  syncIdentityTable,
} from './ledger.ts'
import { lockEventTable } from './lock-events.ts'
import { machineTable } from './machine.ts'
import {
  mqttQueuedTable,
  mqttReceivedTable,
  mqttRetainedTable,
  mqttSessionTable,
  mqttSubscriptionTable,
  mqttWillTable,
} from './mqtt-sessions.ts'
import { notifierTable } from './notifiers.ts'
import { deliveryTable } from './outbox.ts'
import { pinTriesTable } from './pin-tries.ts'
import { quarantineTable } from './quarantine.ts'
import { messageTable, readyTextsTable, recallMessageTable, recallTable } from './recall.ts'
import { secretTable } from './secrets.ts'
import { sessionTable } from './sessions.ts'
import { siteTable } from './site.ts'
import {
  damagedBlockTable,
  hiddenBlockTable,
  stateChangeTable,
  telemetryBlockTable,
  telemetryDeletionTable,
  telemetryLogEndTable,
  telemetryLogTable,
} from './telemetry.ts'
import { userTable } from './users.ts'
import { webhookTable } from './webhooks.ts'
import { zoneExemptTable } from './zone-exempts.ts'
import { zoneSetTable, zoneVersionTable } from './zones.ts'

/** In the order of repair: tables that others are completed from come first. */
const WITHOUT_CHANGE_LOG: readonly Table[] = [
  sqliteSequenceTable,
  migrationTable,
  syncIdentityTable,
  syncCursorTable,
  eraseMarkTable,
  deviceTable,
  deviceStateTable,
  removedDeviceTable,
  telemetryDeletionTable,
  userTable,
  sessionTable,
  deviceTypeTable,
  deviceGroupTable,
  groupConfigTable,
  deviceConfigTable,
  configVersionTable,
  geofenceSetTable,
  zoneVersionTable,
  zoneSetTable,
  siteTable,
  courseTable,
  coursePhotoTable,
  courseChunkTable,
  closedDayTable,
  cartMotionTable,
  cartNoteTable,
  partyTable,
  nameDeletionTable,
  serviceEntryTable,
  servicePlanTable,
  cartUsageTable,
  serviceDaysTable,
  zoneExemptTable,
  pinTriesTable,
  readyTextsTable,
  messageTable,
  recallTable,
  recallMessageTable,
  webhookTable,
  notifierTable,
  deliveryTable,
  secretTable,
  clockMarkTable,
  machineTable,
  mqttSessionTable,
  mqttSubscriptionTable,
  mqttQueuedTable,
  mqttReceivedTable,
  mqttRetainedTable,
  mqttWillTable,
  telemetryLogEndTable,
  stateChangeTable,
  telemetryLogTable,
  commandCountTable,
  intentInboxTable,
  noteTable,
  commandTable,
  closingTable,
  idempotencyKeyTable,
  lockEventTable,
  cartCallTable,
  mailReportTable,
  geofenceEventTable,
  auditEntryTable,
  alertTable,
  blockLogTable,
  quarantineTable,
  damagedBlockTable,
  hiddenBlockTable,
  telemetryBlockTable,
]

/** Table and key of each replicated row, as the triggers enter them in the change log: SELECTs of two columns. */
export const CHANGE_LOG_ENTRIES: readonly string[] = WITHOUT_CHANGE_LOG.flatMap(({ name, replicated }) =>
  replicated === undefined ? [] : [`SELECT '${name}', ${replicated.key} FROM ${replicated.from ?? `${name} t`}`],
)

const changeLogTable = table('change_log', {
  care: {
    what: 'the changes to send to the hub',
    size: 'large',
    meaning: 'All rows are sent again. A comparison with the hub finds changes that were not sent.',
    afterLoss: [`INSERT OR IGNORE INTO change_log (entity, key) ${CHANGE_LOG_ENTRIES.join(' UNION ALL ')}`],
  },
})

/** All tables by name, in the order of repair: those that complete others first. All readable rows are kept. */
export const TABLES: ReadonlyMap<string, Table> = new Map(
  [...WITHOUT_CHANGE_LOG, changeLogTable].map((one) => [one.name, one]),
)
