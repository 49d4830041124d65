import { deleteAlertsStep, saveAlerts } from '../alerts.ts'
import { noteBackup, noteEnrolment } from '../audit-log.ts'
import { saveCartMotions } from '../cart-motion.ts'
import { saveCartNote } from '../cart-notes.ts'
import { confirmClock, recordClockMark } from '../clock-mark.ts'
import { saveClosedDay } from '../closing.ts'
import { expireCommands, failCommands, markCommandsPublished } from '../commands.ts'
import { saveCourse, saveCoursePhoto } from '../course.ts'
import { tellAllPieces } from '../course-pieces.ts'
import { queueTest } from '../deliveries.ts'
import { publishConfigs, putDeviceConfig, putGroupConfig } from '../device-configs.ts'
import { importDevices } from '../device-import.ts'
import { putDeviceType } from '../device-types.ts'
import {
  confirmPassword,
  createDevice,
  deleteDevice,
  issuePassword,
  updateDevice,
  voidSharedPasswords,
} from '../devices.ts'
import { eraseStep } from '../erasure.ts'
import { deleteEventsStep } from '../event-deletion.ts'
import { saveGeofenceSet } from '../geofences.ts'
import { createGroup, deleteGroup, updateGroup } from '../groups.ts'
import { acknowledge, adoptCursors, claimSite, forkEpoch } from '../ledger/cursors.ts'
import { confirmMachine, noteMachine } from '../machine.ts'
import { createCommands, withdrawCommands } from '../new-commands.ts'
import { createNotifier, deleteNotifier, updateNotifier } from '../notifiers.ts'
import { settleDeliveries } from '../outbox.ts'
import { savePinTries } from '../pin-tries.ts'
import { keepRefused } from '../quarantine.ts'
import { endRecall, noteRecallMessages, startRecall } from '../recall.ts'
import { recordIntent } from '../replication/intents.ts'
import { keepSecret, keepSetupSession } from '../secrets.ts'
import { createSession, endSessions, noteDeed, recordSessionUse } from '../sessions.ts'
import { saveSite } from '../site.ts'
import { dropLog, replaceBlocks } from '../telemetry/blocks.ts'
import { hideUnreachableBlocks } from '../telemetry/blocks-aside.ts'
import { quarantineBlocks } from '../telemetry/damaged-blocks.ts'
import { deleteDeviceTelemetryStep, deleteTelemetryStep, purgeTelemetryStep } from '../telemetry/deletion.ts'
import { beginErasure } from '../telemetry/erasure.ts'
import { setAsideLogRow } from '../telemetry/log-row.ts'
import { deleteSentBlocks, giveUpBlocks } from '../telemetry/make-room.ts'
import { importTelemetry } from '../telemetry/store-samples.ts'
import { createFirstAdmin, createUser, deleteUser, recordUsage, updateUser } from '../users.ts'
import { createWebhook, deleteWebhook } from '../webhooks.ts'
import { putZoneExempts } from '../zone-exempts.ts'
import { saveZoneSet, saveZoneSwitches } from '../zones.ts'

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
  ...([
    'deleteTelemetryStep',
    'deleteDeviceTelemetryStep',
    'purgeTelemetryStep',
    'quarantineBlocks',
  ] as const),
  ...([
    'replaceBlocks',
    'dropLog',
    'setAsideLogRow',
    'deleteSentBlocks',
    'giveUpBlocks',
    'hideUnreachableBlocks',
  ] as const),
])

export function changesTelemetry(name: WriteName): boolean {
  return TELEMETRY_WRITES.has(name)
}
