import { claimSite, forkEpoch } from '../ledger/cursors.ts'
import { acknowledge, adoptCursors } from '../replication/acknowledge.ts'
import { recordIntent } from '../replication/intents.ts'
import { deleteAlertsStep, saveAlerts } from '../tables/alerts.ts'
import { noteBackup, noteEnrolment } from '../tables/audit-log.ts'
import { saveCartMotions } from '../tables/cart-motion.ts'
import { saveCartNote } from '../tables/cart-notes.ts'
import { confirmClock, recordClockMark } from '../tables/clock-mark.ts'
import { saveClosedDay } from '../tables/closing.ts'
import { expireCommands, failCommands, markCommandsPublished } from '../tables/commands.ts'
import { saveCourse, saveCoursePhoto } from '../tables/course.ts'
import { tellAllPieces } from '../tables/course-pieces.ts'
import { queueTest } from '../tables/deliveries.ts'
import { publishConfigs, putDeviceConfig, putGroupConfig } from '../tables/device-configs.ts'
import { importDevices } from '../tables/device-import.ts'
import { putDeviceType } from '../tables/device-types.ts'
import {
  confirmPassword,
  createDevice,
  deleteDevice,
  issuePassword,
  updateDevice,
  voidSharedPasswords,
} from '../tables/devices.ts'
import { eraseStep } from '../tables/erasure.ts'
import { deleteEventsStep } from '../tables/event-deletion.ts'
import { saveGeofenceSet } from '../tables/geofences.ts'
import { createGroup, deleteGroup, updateGroup } from '../tables/groups.ts'
import { confirmMachine, noteMachine } from '../tables/machine.ts'
import { createCommands, withdrawCommands } from '../tables/new-commands.ts'
import { createNotifier, deleteNotifier, updateNotifier } from '../tables/notifiers.ts'
import { settleDeliveries } from '../tables/outbox.ts'
import { savePinTries } from '../tables/pin-tries.ts'
import { keepRefused } from '../tables/quarantine.ts'
import { endRecall, noteRecallMessages, startRecall } from '../tables/recall.ts'
import { keepSecret, keepSetupSession } from '../tables/secrets.ts'
import { createSession, endSessions, noteDeed, recordSessionUse } from '../tables/sessions.ts'
import { saveSite } from '../tables/site.ts'
import { createFirstAdmin, createUser, deleteUser, recordUsage, updateUser } from '../tables/users.ts'
import { createWebhook, deleteWebhook } from '../tables/webhooks.ts'
import { putZoneExempts } from '../tables/zone-exempts.ts'
import { saveZoneSet, saveZoneSwitches } from '../tables/zones.ts'
import { dropLog, replaceBlocks } from '../telemetry/blocks.ts'
import { hideUnreachableBlocks } from '../telemetry/blocks-aside.ts'
import { quarantineBlocks } from '../telemetry/damaged-blocks.ts'
import { deleteDeviceTelemetryStep, deleteTelemetryStep, purgeTelemetryStep } from '../telemetry/deletion.ts'
import { beginErasure } from '../telemetry/erasure.ts'
import { setAsideLogRow } from '../telemetry/log-row.ts'
import { deleteSentBlocks, giveUpBlocks } from '../telemetry/make-room.ts'
import { importTelemetry } from '../telemetry/store-samples.ts'

/** Every write of the API and the services by name: it runs in the writer thread, in a transaction of its own. */
export const writes = {
  createDevice,
  updateDevice,
  deleteDevice,
  importDevices,
  issuePassword,
  confirmPassword,
  voidSharedPasswords,
  createGroup,
  updateGroup,
  deleteGroup,
  putDeviceType,
  putGroupConfig,
  putDeviceConfig,
  publishConfigs,
  deleteEventsStep,
  noteEnrolment,
  noteBackup,
  eraseStep,
  beginErasure,
  deleteTelemetryStep,
  deleteDeviceTelemetryStep,
  purgeTelemetryStep,
  keepRefused,
  quarantineBlocks,
  hideUnreachableBlocks,
  replaceBlocks,
  dropLog,
  setAsideLogRow,
  importTelemetry,
  createUser,
  createFirstAdmin,
  updateUser,
  deleteUser,
  recordUsage,
  createSession,
  endSessions,
  recordSessionUse,
  noteDeed,
  recordClockMark,
  confirmClock,
  noteMachine,
  confirmMachine,
  saveGeofenceSet,
  saveZoneSet,
  saveZoneSwitches,
  saveSite,
  saveCourse,
  saveCoursePhoto,
  tellAllPieces,
  saveAlerts,
  deleteAlertsStep,
  saveCartMotions,
  saveCartNote,
  putZoneExempts,
  keepSecret,
  keepSetupSession,
  createWebhook,
  deleteWebhook,
  createNotifier,
  updateNotifier,
  deleteNotifier,
  queueTest,
  settleDeliveries,
  createCommands,
  withdrawCommands,
  markCommandsPublished,
  expireCommands,
  failCommands,
  saveClosedDay,
  recordIntent,
  savePinTries,
  startRecall,
  endRecall,
  noteRecallMessages,
  deleteSentBlocks,
  giveUpBlocks,
  acknowledge,
  adoptCursors,
  claimSite,
  forkEpoch,
}

type Writes = typeof writes
export type WriteName = keyof Writes
export type WriteInput<Name extends WriteName> = Parameters<Writes[Name]>[1]
/** A write with its name. */
export type NamedWrite = { [Name in WriteName]: { name: Name; input: WriteInput<Name> } }[WriteName]
export type WriteResult<Name extends WriteName> = ReturnType<Writes[Name]>

/** Writes that change telemetry: its blocks and the rows of its log have checksums of their own. */
const TELEMETRY_WRITES: ReadonlySet<WriteName> = new Set<WriteName>([
  'deleteTelemetryStep',
  'deleteDeviceTelemetryStep',
  'purgeTelemetryStep',
  'quarantineBlocks',
  'replaceBlocks',
  'dropLog',
  'setAsideLogRow',
  'deleteSentBlocks',
  'giveUpBlocks',
  'hideUnreachableBlocks',
])

export function changesTelemetry(name: WriteName): boolean {
  return TELEMETRY_WRITES.has(name)
}
