import { isDeepStrictEqual } from 'node:util'
import type { AuditAction } from '#shared/audit-actions.ts'
import { toIso } from '#shared/time.ts'
import { toSiteSettingsJson } from '#shared/wire/site-json.ts'
import type { Connection } from '../db/connection.ts'
import { type EntityTable, entityBody } from '../replication/entities.ts'
import type { AuditRecord, DatedOrigin } from '../tables/audit-log.ts'
import { findCommand } from '../tables/commands.ts'
import { type CoursePhoto, coursePhoto, courseRow } from '../tables/course.ts'
import { listNotifiers, type NotifierRow } from '../tables/notifiers.ts'
import { listSessions } from '../tables/sessions.ts'
import { siteSettings } from '../tables/site.ts'
import { listWebhooks, type WebhookRow } from '../tables/webhooks.ts'
import { zoneSet } from '../tables/zones.ts'
import type { WriteInput, WriteName, WriteResult } from './writes.ts'

/**
 * Looks before a write, and tells after it what is to be entered in the audit log. It is called in the transaction of
 * the write.
 */
type Audit<Input, Result> = (
  connection: Connection,
  input: Input,
  origin: DatedOrigin,
) => (result: Result) => AuditRecord[]

/** What the log calls the rows of a table. */
const NOUNS: Record<EntityTable, string> = {
  device: 'device',
  device_group: 'group',
  device_type: 'device_type',
  group_config: 'config',
  device_config: 'config',
  geofence_set: 'zones',
  zone_set: 'zones',
  user: 'user',
  command: 'command',
  audit_entry: 'audit_entry',
  site: 'site',
  course: 'course',
  course_piece: 'course',
  alert: 'alert',
  cart_note: 'cart',
}

/**
 * What each write enters; null for those that change nothing a person decides. Every write has to say it here: one that
 * is added without does not compile.
 */
const AUDITS: { [Name in WriteName]: Audit<WriteInput<Name>, WriteResult<Name>> | null } = {
  createDevice: changed('device', ({ hardwareId }) => hardwareId),
  updateDevice: withSecret(
    () => 'device.password_rotated',
    changed('device', ({ hardwareId }) => hardwareId),
    (input) => (input.mqttPasswordHash === undefined ? null : input.hardwareId),
  ),
  deleteDevice: changed('device', ({ hardwareId }) => hardwareId),
  importDevices: (connection, { created, updated }, origin) => {
    const device = changed<{ hardwareId: string }>('device', ({ hardwareId }) => hardwareId)
    const ends = [...created, ...updated].map((one) => device(connection, one, origin))
    return () => ends.flatMap((end) => end(null))
  },
  issuePassword:
    (_, { hardwareId }) =>
    (row) =>
      row === null ? [] : [event('device.password_issued', hardwareId, null)],
  // the device says that it has the password it was issued
  confirmPassword: null,
  // what a device sent
  keepRefused: null,
  // at the start, after an upgrade
  voidSharedPasswords: null,
  confirmClock:
    (_, { confirmedMs }) =>
    () => [event('clock.confirmed', 'clock', { now_ms: confirmedMs })],
  // a start of the machine of before
  noteMachine: null,
  confirmMachine: () => () => [event('machine.confirmed', 'machine', null)],
  noteEnrolment:
    (_, { minutes }) =>
    () => [event('enrolment.opened', 'enrolment', { minutes })],
  noteBackup:
    (_, { target }) =>
    () => [event('backup.started', 'backup', { target })],
  createGroup: (connection) => (group) => {
    const key = String(group.groupId)
    return [event('group.created', key, entityBody(connection, 'device_group', key))]
  },
  updateGroup: changed('device_group', ({ groupId }) => String(groupId)),
  deleteGroup: changed('device_group', ({ groupId }) => String(groupId)),
  putDeviceType: changed('device_type', ({ type }) => type.name),
  putGroupConfig: changed('group_config', ({ groupId, deviceType }) => `${groupId}/${deviceType}`),
  putDeviceConfig: changed('device_config', ({ deviceId }, connection) => hardwareIdOf(connection, deviceId)),
  saveGeofenceSet: (connection, input, origin) => {
    // published anew, or for the first time in a group that has none of its own
    const known = entityBody(connection, 'geofence_set', String(input.groupId))
    if (isDeepStrictEqual(known?.zones ?? [], JSON.parse(input.zonesJson))) return () => []
    return changed<typeof input>('geofence_set', ({ groupId }) => String(groupId))(connection, input, origin)
  },
  // the zones that are others now: of all there may be megabytes
  saveZoneSet: (connection, { version, zonesJson }) => {
    const stored = zoneSet(connection)
    const before: ZoneById = new Map(zonesIn(stored?.zonesJson ?? '[]'))
    const after: ZoneById = new Map(zonesIn(zonesJson))
    const ofThose = (zones: ZoneById, others: ZoneById) =>
      [...zones].flatMap(([id, zone]) => (isDeepStrictEqual(zone, others.get(id)) ? [] : [zone]))
    return () => [
      {
        action: 'zones.updated',
        target: 'site',
        before: { version: stored?.version ?? 0, zones: ofThose(before, after) },
        after: { version, zones: ofThose(after, before) },
      },
    ]
  },
  saveZoneSwitches:
    (_, { version, switched }) =>
    () => [
      {
        action: 'zones.switched',
        target: 'site',
        before: { zones: switched.map(({ zoneId, wasEnabled }) => ({ id: zoneId, enabled: wasEnabled })) },
        after: {
          version,
          zones: switched.map(({ zoneId, isEnabled, untilMs }) => ({
            id: zoneId,
            enabled: isEnabled,
            until: untilMs === null ? null : toIso(untilMs),
          })),
        },
      },
    ],
  // the fields of it that are others now
  saveSite: (connection) => {
    const before = toSiteSettingsJson(siteSettings(connection))
    return () => {
      const [old, now] = differences(before, toSiteSettingsJson(siteSettings(connection)))
      return now === null ? [] : [{ action: 'site.updated', target: 'site', before: old, after: now }]
    }
  },
  // how many there are of what: the drawing may be megabytes
  saveCourse: (connection, { version, counts }) => {
    const before = courseRow(connection)
    const [isThere, wasThere] = [hasAny(counts), (before?.version ?? 0) > 0]
    const action = isThere ? (wasThere ? 'course.updated' : 'course.created') : 'course.deleted'
    return () => [
      {
        action,
        target: 'site',
        before: before === null ? null : { version: before.version },
        after: { version, counts },
      },
    ]
  },
  saveCoursePhoto: (connection, { photo }) => {
    const [before, after] = [coursePhoto(connection), photo].map(photoEntry)
    const action = after === null ? 'course.photo_deleted' : 'course.photo_updated'
    return () => [{ action, target: 'site', before: before ?? null, after: after ?? null }]
  },
  // what persons do; what the gateway opens and closes by itself is in the list of alerts
  saveAlerts: (connection, { changes }) => {
    const before = new Map(
      changes.flatMap(({ byUserId, alert: { alertId } }) =>
        byUserId === null ? [] : [[alertId, entityBody(connection, 'alert', alertId)] as const],
      ),
    )
    return (saved) =>
      saved.flatMap(({ event, alert: { alertId }, isNew }) => {
        const was = before.get(alertId)
        if (was === undefined || !isNew) return []
        const [old, now] = differences(was, entityBody(connection, 'alert', alertId))
        return [{ action: `alert.${event}`, target: alertId, before: old, after: now }]
      })
  },
  deleteAlertsStep: null,
  // always an update, whether anything was said of the cart before or not
  saveCartNote: (connection, input, origin) => {
    const end = changed<typeof input>('cart_note', ({ cart }) => cart)(connection, input, origin)
    return () => end(null).map((entry) => ({ ...entry, action: 'cart.updated' }))
  },
  saveCartMotions: null,
  putZoneExempts: null,
  createUser: changed('user', ({ userId }) => userId),
  createFirstAdmin: changed('user', ({ userId }) => userId),
  updateUser: withSecret(
    (input) => (input.pinHash === null ? 'pin.deleted' : 'pin.updated'),
    withSecret(
      () => 'key.rotated',
      changed('user', ({ userId }) => userId),
      (input) => (input.keyHash === undefined ? null : input.userId),
    ),
    (input) => (input.pinHash === undefined ? null : input.userId),
  ),
  deleteUser: changed('user', ({ userId }) => userId),
  // neither params, which may hold a token, nor metadata, which may name a person: the command has them
  createCommands:
    (_, { commands }) =>
    () =>
      commands.map(({ commandId, hardwareId, command, ttlS, retryOf, forced }) =>
        event('command.created', commandId, {
          hardware_id: hardwareId,
          command,
          ttl_s: ttlS,
          retry_of: retryOf,
          ...(forced === null ? {} : { forced: true }),
        }),
      ),
  importTelemetry: (connection, { deviceId }) => {
    const hardwareId = hardwareIdOf(connection, deviceId)
    return (flags) => [event('telemetry.imported', hardwareId, { samples: flags.length })]
  },
  beginErasure: (connection, { deviceId, streams }) => {
    const hardwareId = hardwareIdOf(connection, deviceId)
    return () => [event('telemetry.deleted', hardwareId, { streams })]
  },
  // the first step of those that somebody asked for
  purgeTelemetryStep:
    (_, { beforeMs, after }, { userId }) =>
    () =>
      userId === null || after !== null ? [] : [event('telemetry.purged', 'all', { before_ms: beforeMs })],
  withdrawCommands: (connection, { commandIds }) => {
    const written = commandIds.filter((commandId) => findCommand(connection, commandId) !== undefined)
    return () => written.map((commandId) => event('command.withdrawn', commandId, null))
  },
  startRecall:
    (_, { recallId, text, scope }) =>
    () => [event('recall.created', recallId, { text, hardware_ids: scope })],
  endRecall:
    (_, { recallId, text }) =>
    () => [event('recall.deleted', recallId, { text })],
  noteRecallMessages: null,
  // the lock of a person has its own entry
  savePinTries: null,
  // of whom or what must not be kept here either
  eraseStep:
    (_, { subject, after }) =>
    () =>
      after === null ? [event('erasure.created', 'code' in subject ? 'code' : 'person', null)] : [],
  publishConfigs: null,
  deleteEventsStep: null,
  deleteTelemetryStep: null,
  deleteDeviceTelemetryStep: null,
  quarantineBlocks: null,
  hideUnreachableBlocks: null,
  replaceBlocks: null,
  dropLog: null,
  setAsideLogRow: null,
  createSession:
    (_, { row: { sessionId, userId, name } }) =>
    () => [event('session.created', sessionId, { user_id: userId, name })],
  endSessions: (connection, { sessionIds }) => {
    const ended = new Set(sessionIds)
    const rows = listSessions(connection).filter(({ sessionId }) => ended.has(sessionId))
    return () =>
      rows.map(({ sessionId, userId, name }) => ({
        action: 'session.deleted',
        target: sessionId,
        before: { user_id: userId, name },
        after: null,
      }))
  },
  noteDeed:
    (_, { action, target, after }) =>
    () => [event(action, target, after)],
  createWebhook: (_, row) => () => [event('webhook.created', row.webhookId, webhookEntry(row))],
  deleteWebhook: (connection, { webhookId }) => {
    const before = listWebhooks(connection).find((row) => row.webhookId === webhookId)
    return () =>
      before === undefined
        ? []
        : [{ action: 'webhook.deleted', target: webhookId, before: webhookEntry(before), after: null }]
  },
  createNotifier: (_, row) => () => [event('notifier.created', row.notifierId, notifierEntry(row))],
  updateNotifier: (connection, row) => {
    const { notifierId } = row
    const before = listNotifiers(connection).find((known) => known.notifierId === notifierId)
    return () => {
      if (before === undefined) return []
      const [old, now] = differences(notifierEntry(before), notifierEntry(row))
      const updated: AuditRecord[] =
        now === null ? [] : [{ action: 'notifier.updated', target: notifierId, before: old, after: now }]
      return [
        ...updated,
        ...(before.token === row.token ? [] : [event('notifier.token_replaced', notifierId, null)]),
      ]
    }
  },
  deleteNotifier: (connection, { notifierId }) => {
    const before = listNotifiers(connection).find((row) => row.notifierId === notifierId)
    return () =>
      before === undefined
        ? []
        : [{ action: 'notifier.deleted', target: notifierId, before: notifierEntry(before), after: null }]
  },
  queueTest:
    (_, { channel, targetId }) =>
    () => [event(channel === 'webhook' ? 'webhook.tested' : 'notifier.tested', targetId, null)],
  settleDeliveries: null,
  recordSessionUse: null,
  recordUsage: null,
  recordClockMark: null,
  keepSecret: null,
  keepSetupSession: null,
  markCommandsPublished: null,
  expireCommands: null,
  failCommands: null,
  // the locks of that day are entered as commands
  saveClosedDay: null,
  recordIntent: null,
  deleteSentBlocks: null,
  giveUpBlocks: null,
  acknowledge: null,
  tellAllPieces: null,
  adoptCursors: null,
  claimSite: null,
  forkEpoch: null,
}

/** Looks before the write of this name, and tells after it what is to be entered in the audit log. */
export function beginAudit(
  connection: Connection,
  name: WriteName,
  input: unknown,
  origin: DatedOrigin,
): (result: unknown) => AuditRecord[] {
  // the pair came from Store.write, which only takes an input that fits its name
  const audit = AUDITS[name] as Audit<unknown, unknown> | null
  return audit === null ? () => [] : audit(connection, input, origin)
}

/** Enters the fields of a row that a write changed; nothing where it changed none. */
function changed<Input>(
  table: EntityTable,
  keyOf: (input: Input, connection: Connection) => string,
): Audit<Input, unknown> {
  return (connection, input) => {
    const key = keyOf(input, connection)
    const before = entityBody(connection, table, key)
    return () => {
      const [old, now] = differences(before, entityBody(connection, table, key))
      if (old === null && now === null) return []
      const happened = before === null ? 'created' : now === null ? 'deleted' : 'updated'
      // the tests look that there is no other
      const action = `${NOUNS[table]}.${happened}` as AuditAction
      return [{ action, target: key, before: old, after: now }]
    }
  }
}

/** Enters beside what `audit` does that a secret is another, of which nothing else is said. */
function withSecret<Input>(
  actionOf: (input: Input) => AuditAction,
  audit: Audit<Input, unknown>,
  targetOf: (input: Input) => string | null,
): Audit<Input, unknown> {
  return (connection, input, origin) => {
    const end = audit(connection, input, origin)
    const target = targetOf(input)
    return (result) => [...end(result), ...(target === null ? [] : [event(actionOf(input), target, null)])]
  }
}

type ZoneById = Map<string, { id: string }>

function zonesIn(json: string): [string, { id: string }][] {
  // written by this program only
  const zones: { id: string }[] = JSON.parse(json)
  return zones.map((zone) => [zone.id, zone])
}

type Body = Record<string, unknown>

/** What is different; all of a row that is not there before or after. Null and null when nothing is. */
function differences(before: Body | null, after: Body | null): [before: Body | null, after: Body | null] {
  if (before === null || after === null) return [before, after]
  const names = Object.keys(after).filter(
    (name) => name !== 'updated_at_ms' && !isDeepStrictEqual(before[name], after[name]),
  )
  if (names.length === 0) return [null, null]
  const pick = (body: Body) => Object.fromEntries(names.map((name) => [name, body[name]]))
  return [pick(before), pick(after)]
}

function webhookEntry({ url, kinds }: WebhookRow): Body {
  return { url: originOf(url), kinds }
}

function notifierEntry({ channel, recipient, kinds, hours, afterUnacknowledgedMin }: NotifierRow): Body {
  const to = channel === 'ntfy' ? originOf(recipient) : recipient
  return { channel, to, kinds, hours, after_unacknowledged_min: afterUnacknowledgedMin }
}

/** Whoever knows the path of such an address may use it: the log says where it is, and not what it is. */
function originOf(url: string): string {
  const { origin = '', pathname = '', search = '' } = URL.parse(url) ?? {}
  return pathname.length + search.length > 1 ? `${origin}/…` : origin
}

function hasAny(counts: object): boolean {
  return Object.values(counts).some((count) => count > 0)
}

function photoEntry(photo: CoursePhoto | null): Body | null {
  if (photo === null) return null
  const { contentType, corners, bytes } = photo
  return { content_type: contentType, corners, bytes }
}

function event(action: AuditAction, target: string, after: object | null): AuditRecord {
  return { action, target, before: null, after }
}

function hardwareIdOf(connection: Connection, deviceId: number): string {
  const row = connection.get<{ hardwareId: string }>(
    'SELECT hardware_id AS hardwareId FROM device WHERE device_id = ?',
    deviceId,
  )
  return row?.hardwareId ?? ''
}
