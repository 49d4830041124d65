import { deleteDeviceTelemetryStep, deleteTelemetryStep, purgeTelemetryStep } from './block-deletion.ts'
import { dropLog, replaceBlocks } from './blocks.ts'
import { recordClockMark } from './clock-mark.ts'
import { expireCommands, markCommandsPublished } from './commands.ts'
import { quarantineBlocks } from './damaged-blocks.ts'
import { publishConfigs, putDeviceConfig, putGroupConfig } from './device-configs.ts'
import { putDeviceType } from './device-types.ts'
import { createDevice, deleteDevice, updateDevice } from './devices.ts'
import { deleteSentBlocks, giveUpBlocks } from './disk-relief.ts'
import { beginErasure } from './erasure.ts'
import { saveGeofenceSet } from './geofences.ts'
import { createGroup, deleteGroup, updateGroup } from './groups.ts'
import { recordIntent } from './intents.ts'
import { setAsideLogRow } from './log-row.ts'
import { createCommands, withdrawCommands } from './new-commands.ts'
import { keepSecret } from './secrets.ts'
import { acknowledge, adoptCursors, claimSite, forkEpoch } from './sync-cursors.ts'
import { importTelemetry } from './telemetry-import.ts'
import { createFirstAdmin, createUser, deleteUser, recordUsage, updateUser } from './users.ts'
import type { WriterTables } from './writer-tables.ts'

/** Every write of the API and the services by name: it runs in the writer thread, in a transaction of its own. */
const writes = {
  createDevice,
  updateDevice,
  deleteDevice,
  createGroup,
  updateGroup,
  deleteGroup,
  putDeviceType,
  putGroupConfig,
  putDeviceConfig,
  publishConfigs,
  beginErasure,
  deleteTelemetryStep,
  deleteDeviceTelemetryStep,
  purgeTelemetryStep,
  quarantineBlocks,
  replaceBlocks,
  dropLog,
  setAsideLogRow,
  importTelemetry,
  createUser,
  createFirstAdmin,
  updateUser,
  deleteUser,
  recordUsage,
  recordClockMark,
  saveGeofenceSet,
  keepSecret,
  createCommands,
  withdrawCommands,
  markCommandsPublished,
  expireCommands,
  recordIntent,
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

export function performWrite(connection: WriterTables, name: WriteName, input: unknown): unknown {
  // the pair came from Store.write, which only takes an input that fits its name
  const write = writes[name] as (connection: WriterTables, input: unknown) => unknown
  return write(connection, input)
}
