import { FETCH_GEOFENCES_NAME } from '#devices/commands.ts'
import type { CommandDefinition } from '#devices/device-type.ts'
import type { Caller } from '#domain/access.ts'
import { NEW_COMMAND } from '#domain/commands.ts'
import { ConflictError } from '#shared/errors.ts'
import { newUuid } from '#shared/ids.ts'
import type { Clock } from '#shared/time.ts'
import type { GeofenceFetchJson } from '#shared/wire/geofences.ts'
import type { CommandRow } from '#store/tables/commands.ts'
import type { Device } from '../fleet.ts'
import type { CommandDelivery } from './delivery.ts'
import type { CommandRequest } from './request.ts'

export interface NewCommandDeps {
  delivery: Pick<CommandDelivery, 'unfinishedOf'>
  /** Issues the address and token for a device's download of its zones. Throws `no_group`. */
  geofenceTokens: { tokenFor(device: Device, caller: Caller): GeofenceFetchJson }
  clock: Clock
}

/** Requester of a new command, and the data that decides its further course. */
export interface CommandOrigin {
  caller: Caller
  /** Intent of the hub that it comes from; it expires with the intent. */
  intent?: { commandId: string; expiresAtMs: number } | undefined
  forced: CommandRow['forced']
  retryOf?: string
}

/** Maximum number of unfinished commands of a device; more is a fault of the client. */
const MAX_UNFINISHED = 1000

export function isFull({ delivery }: Pick<NewCommandDeps, 'delivery'>, hardwareId: string): boolean {
  return delivery.unfinishedOf(hardwareId) >= MAX_UNFINISHED
}

/** Builds the first stored state of a command. Throws `too_many_commands`, `no_group` and `intent_expired`. */
export function newCommand(
  deps: NewCommandDeps,
  device: Device,
  { command, params, metadata, ttlS }: CommandRequest,
  definition: CommandDefinition,
  { caller, intent, forced, retryOf }: CommandOrigin,
): CommandRow {
  const { hardwareId, shortId, deviceType } = device.row
  if (isFull(deps, hardwareId)) {
    const message = `${hardwareId} already has ${MAX_UNFINISHED} unfinished commands`
    throw new ConflictError('too_many_commands', message)
  }
  const createdAtMs = deps.clock.nowMs()
  return {
    ...NEW_COMMAND,
    commandId: intent?.commandId ?? newUuid(),
    hardwareId,
    shortId,
    deviceType,
    command,
    paramsJson: JSON.stringify(
      command === FETCH_GEOFENCES_NAME ? deps.geofenceTokens.tokenFor(device, caller) : params,
    ),
    metadataJson: metadata === null ? null : JSON.stringify(metadata),
    ttlS: ttlWithin(ttlS ?? definition.ttlS, createdAtMs, intent?.expiresAtMs),
    requestedBy: caller.userId,
    retryOf: retryOf ?? null,
    createdAtMs,
    forced,
  }
}

/** Throws `intent_expired` if less than a second is left. */
function ttlWithin(ttlS: number, nowMs: number, expiresAtMs = Number.POSITIVE_INFINITY): number {
  const withinS = Math.min(ttlS, Math.floor((expiresAtMs - nowMs) / 1000))
  if (withinS < 1) throw new ConflictError('intent_expired', 'the intent arrived after it had expired')
  return withinS
}
