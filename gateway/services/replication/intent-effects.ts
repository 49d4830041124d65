import type { z } from 'zod'
import type { Caller } from '#domain/access.ts'
import { readZones } from '#domain/geofences.ts'
import { inTurns } from '#shared/budgets/in-turns.ts'
import { ConflictError, InvalidRequestError } from '#shared/errors.ts'
import {
  commandSendSchema,
  configSetSchema,
  geofencePutSchema,
  resendSchema,
  userDisableSchema,
} from '#shared/wire/replication/intents.ts'
import { type AuditKind, type Intent, type IntentKind, intentKindSchema } from '#shared/wire/replication/sync.ts'
import { fieldErrors } from '#shared/wire/schema/field-errors.ts'
import type { EntityTable } from '#store/replication/entities.ts'
import type { NamedWrite } from '#store/writer/writes.ts'
import type { GatewayClock } from '../clock/gateway-clock.ts'
import type { Commands } from '../commands/commands.ts'
import type { DeviceConfigs } from '../configuration/device-configs.ts'
import type { Groups } from '../configuration/groups.ts'
import type { Fleet } from '../fleet.ts'
import type { Users } from '../users.ts'
import type { Geofences } from '../zones/geofences.ts'
import { intentCommandId } from './intent-command-id.ts'

/** Data to compare with the hub again; null means all data. */
export interface ResendRequest {
  kind: AuditKind | null
  /** Midnight in UTC, in ms. */
  dayMs: number | null
}

export interface IntentEffectsDeps {
  fleet: Pick<Fleet, 'require'>
  groups: Pick<Groups, 'require'>
  deviceConfigs: Pick<DeviceConfigs, 'setDeviceLayer' | 'setGroupLayer'>
  geofences: Pick<Geofences, 'replace' | 'idsOfSite'>
  commands: Pick<Commands, 'create'>
  users: Pick<Users, 'change'>
  clock: Pick<GatewayClock, 'isTrusted'>
  onResend: (wanted: ResendRequest) => void
}

/** Subject of an intent, as the hub names it. */
export interface IntentSubject {
  table: EntityTable
  key: string
}

/** Builds the write that records an intent as applied. */
type Record = (subject: IntentSubject | null) => NamedWrite

/** Caller on whose behalf the intents of the hub are performed. */
const HEAD_OFFICE: Caller = { userId: 'head office', role: 'admin', allowedHardwareIds: null }

/**
 * Performs an intent as the API would for an admin; `record` goes into the same transaction. Returns false if the
 * intent writes nothing itself. Throws the `AppError` of the rule that forbids it.
 */
export async function performIntent(deps: IntentEffectsDeps, intent: Intent, record: Record): Promise<boolean> {
  const kind = intentKindSchema.safeParse(intent.kind)
  if (!kind.success)
    throw new InvalidRequestError('unknown_intent', `this gateway does not know the kind ${intent.kind}`)
  return PERFORMERS[kind.data](deps, intent, record)
}

type Performer = (deps: IntentEffectsDeps, intent: Intent, record: Record) => Promise<boolean>

const PERFORMERS: Readonly<{ [Kind in IntentKind]: Performer }> = {
  'config.set': setConfig,
  'geofence.put': putGeofences,
  'command.send': sendCommand,
  'user.disable': disableUser,
  resend: wantResend,
}

async function setConfig(
  { fleet, deviceConfigs }: IntentEffectsDeps,
  { body }: Intent,
  record: Record,
): Promise<boolean> {
  const change = parse(configSetSchema, body)
  if ('hardware_id' in change) {
    const device = fleet.require(change.hardware_id)
    const subject = { table: 'device_config' as const, key: device.row.hardwareId }
    await deviceConfigs.setDeviceLayer(device, change.config, record(subject))
  } else {
    const { group_id: groupId, device_type: deviceType, config } = change
    const subject = { table: 'group_config' as const, key: `${groupId}/${deviceType}` }
    await deviceConfigs.setGroupLayer(groupId, deviceType, config, record(subject))
  }
  return true
}

async function putGeofences(
  { groups, geofences }: IntentEffectsDeps,
  { body }: Intent,
  record: Record,
): Promise<boolean> {
  const change = parse(geofencePutSchema, body)
  const { groupId } = groups.require(change.group_id)
  const zones = await inTurns(readZones(change.geofences, geofences.idsOfSite()))
  const subject = { table: 'geofence_set' as const, key: String(groupId) }
  await geofences.replace(groupId, zones, () => groups.require(groupId), record(subject))
  return true
}

async function sendCommand(
  { fleet, commands, clock }: IntentEffectsDeps,
  { intent_id: intentId, body, expires_at_ms: expiresAtMs }: Intent,
  record: Record,
): Promise<boolean> {
  const { hardware_id, command, params, metadata, ttl_s: ttlS, force } = parse(commandSendSchema, body)
  // without a trusted clock the gateway cannot check if the intent has expired
  if (!clock.isTrusted) throw new ConflictError('clock_not_set', 'the clock of the gateway is not set')
  const device = fleet.require(hardware_id)
  const isForced = force === true ? { force } : {}
  const request = { command, params: params ?? {}, metadata: metadata ?? null, ttlS, ...isForced }
  const commandIntent = { commandId: intentCommandId(intentId), expiresAtMs, also: record(null) }
  await commands.create(device, request, { caller: HEAD_OFFICE, intent: commandIntent })
  return true
}

async function disableUser({ users }: IntentEffectsDeps, { body }: Intent, record: Record): Promise<boolean> {
  const { user_id: userId } = parse(userDisableSchema, body)
  await users.change(userId, { isActive: false }, record({ table: 'user', key: userId }))
  return true
}

async function wantResend({ onResend }: IntentEffectsDeps, { body }: Intent): Promise<boolean> {
  const { kind = null, day } = parse(resendSchema, body)
  // if the gateway stops before this is recorded, the intent comes again: a second comparison does no harm
  onResend({ kind, dayMs: day === undefined ? null : Date.parse(day) })
  return false
}

function parse<Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const errors = parsed.error.issues.flatMap((issue) => fieldErrors('body', issue, body))
  const message = errors.map(({ name, detail }) => `${name}: ${detail}`).join('; ')
  throw new InvalidRequestError('invalid_body', message, errors)
}
