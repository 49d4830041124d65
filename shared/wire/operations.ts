import { z } from 'zod'
import {
  accessRequestSchema,
  allowedAccessSchema,
  allowedRequestSchema,
  createdAccessRequestSchema,
  deletedAccessRequestSchema,
  newAccessRequestSchema,
} from './access-requests.ts'
import { alertListSchema, alertNoteSchema, alertQuerySchema, alertSchema } from './alerts.ts'
import { auditLogQuerySchema, auditLogSchema } from './audit-log.ts'
import { backupsQuerySchema, backupsSchema, startedBackupSchema } from './backups.ts'
import { cartLocksSchema, newCartLocksSchema } from './cart-locks.ts'
import { cartListQuerySchema, cartListSchema, cartPatchSchema, cartSchema } from './carts.ts'
import { clockConfirmationSchema, confirmedClockSchema } from './clock.ts'
import {
  commandListSchema,
  commandSchema,
  commandsQuerySchema,
  deviceCommandsQuerySchema,
  groupCommandsSchema,
  newCommandSchema,
  newGroupCommandSchema,
} from './commands.ts'
import {
  changedCourseSchema,
  changedPhotoSchema,
  coursePhotoQuerySchema,
  courseSchema,
  imageSchema,
  newCourseSchema,
  proposedZonesSchema,
} from './course.ts'
import {
  deviceConfigPutSchema,
  deviceConfigQuerySchema,
  deviceConfigSchema,
  groupConfigPutSchema,
  groupConfigSchema,
  groupConfigsSchema,
  newLayerSchema,
} from './device-configs.ts'
import { deviceFileSchema, deviceImportQuerySchema, deviceImportSchema } from './device-import.ts'
import { deviceTypePutSchema, deviceTypeSchema, putDeviceTypeSchema } from './device-types.ts'
import {
  deletedDeviceSchema,
  deviceDetailsSchema,
  deviceListQuerySchema,
  deviceListSchema,
  devicePatchSchema,
  devicePutSchema,
  deviceSchema,
  newDeviceSchema,
  recentMessagesQuerySchema,
  recentMessagesSchema,
  registeredDeviceSchema,
  rotatedPasswordSchema,
} from './devices.ts'
import { enrolmentSchema, newEnrolmentSchema, openedEnrolmentSchema } from './enrolment.ts'
import { erasureSchema, newErasureSchema } from './erasures.ts'
import { geofenceEventListSchema, geofenceEventQuerySchema } from './geofence-events.ts'
import {
  changedGeofencesSchema,
  geofenceDownloadQuerySchema,
  groupGeofencesSchema,
  legacyGeofencesSchema,
  newGeofencesSchema,
} from './geofences.ts'
import {
  assignmentSchema,
  deletedGroupSchema,
  groupPatchSchema,
  groupSchema,
  newGroupSchema,
} from './groups.ts'
import { lockEventListSchema, lockEventQuerySchema } from './lock-events.ts'
import {
  mqttAddressesSchema,
  mqttClientListQuerySchema,
  mqttClientListSchema,
  mqttStatsSchema,
  quarantineQuerySchema,
  quarantineSchema,
  removedMqttClientQuerySchema,
  removedMqttClientSchema,
} from './mqtt-status.ts'
import {
  createdNotifierSchema,
  deletedNotifierSchema,
  newNotifierSchema,
  notifierPatchSchema,
  notifierSchema,
} from './notifiers.ts'
import {
  deletedRecallSchema,
  endedRecallSchema,
  newRecallSchema,
  recallSchema,
  recallStateSchema,
} from './recall.ts'
import { syncFileReceiptSchema, takenReceiptSchema } from './replication/sync-file.ts'
import {
  batteryReportSchema,
  mapReportQuerySchema,
  monthReportQuerySchema,
  silencesSchema,
  trafficSchema,
  utilisationSchema,
} from './reports.ts'
import { activeRoundQuerySchema, activeRoundsSchema, roundListSchema, roundQuerySchema } from './rounds.ts'
import { idListQuerySchema, idPageQuerySchema, oldestListQuerySchema } from './schema/params.ts'
import {
  currentSessionSchema,
  meSchema,
  newPairingCodeSchema,
  newPersonSchema,
  newPinSchema,
  newSessionSchema,
  pairingCodeSchema,
  peopleQuerySchema,
  personSchema,
  sessionSchema,
  setPinSchema,
  signedOutSchema,
} from './sessions.ts'
import { siteSettingsPatchSchema, siteSettingsSchema } from './site.ts'
import { startedAuditSchema, syncStatusSchema } from './sync-status.ts'
import { confirmedMachineSchema, healthSchema, statsSchema } from './system.ts'
import {
  BATTERY_FORMATS,
  batteryRecordSchema,
  deletedRecordsSchema,
  GPS_FORMATS,
  gpsRecordSchema,
  historyQuerySchema,
  purgedDeviceSchema,
  purgedFleetSchema,
  purgeSchema,
  storedMonthsQuerySchema,
  storedMonthsSchema,
  telemetryStatsSchema,
} from './telemetry.ts'
import { importedTelemetrySchema, telemetryImportSchema } from './telemetry-import.ts'
import { tlsSchema } from './tls.ts'
import { cartTrackQuerySchema, cartTrackSchema, replayQuerySchema, replaySchema } from './tracks.ts'
import {
  activeTripsQuerySchema,
  activeTripsSchema,
  deviceActiveTripQuerySchema,
  deviceActiveTripSchema,
  deviceTripsQuerySchema,
  deviceTripsSchema,
  tripSummaryQuerySchema,
  tripSummarySchema,
  tripsQuerySchema,
  tripsSchema,
} from './trips.ts'
import {
  deletedUserSchema,
  issuedKeySchema,
  newUserSchema,
  rotatedKeySchema,
  userPatchSchema,
  userSchema,
} from './users.ts'
import {
  createdWebhookSchema,
  deletedWebhookSchema,
  newWebhookSchema,
  queuedTestSchema,
  webhookSchema,
} from './webhooks.ts'
import {
  appliedZonesSchema,
  changedZonesSchema,
  keptZonesQuerySchema,
  keptZonesSchema,
  newZonesSchema,
  switchedZonesSchema,
  zoneSwitchSchema,
  zonesSchema,
} from './zones.ts'

interface OperationSchemas {
  query?: z.ZodType
  body?: z.ZodType
  answer: z.ZodType
}

/**
 * What each operation of the API takes and gives, by method and path: the types of `shared/client.ts`.
 * `gateway/api/operations.test.ts` holds it to the routes, and says which line to add for a new one.
 */
export const operations = {
  'GET /health': { answer: healthSchema },
  'GET /sync/status': { answer: syncStatusSchema },
  'GET /audit-log': { query: auditLogQuerySchema, answer: auditLogSchema },
  'POST /erasures': { body: newErasureSchema, answer: erasureSchema },
  'POST /sync/audit': { answer: startedAuditSchema },
  'GET /sync/export': { answer: z.string() },
  'POST /sync/receipts': { body: syncFileReceiptSchema, answer: takenReceiptSchema },
  'GET /stats': { answer: statsSchema },
  'GET /metrics': { answer: z.string() },
  'GET /tls': { answer: tlsSchema },
  'POST /clock/confirm': { body: clockConfirmationSchema, answer: confirmedClockSchema },
  'POST /machine/confirm': { answer: confirmedMachineSchema },
  'GET /devices': { query: deviceListQuerySchema, answer: deviceListSchema },
  'POST /devices': { body: newDeviceSchema, answer: registeredDeviceSchema },
  'POST /devices/import': {
    query: deviceImportQuerySchema,
    body: deviceFileSchema,
    answer: deviceImportSchema,
  },
  'GET /devices/{id}': { answer: deviceSchema },
  'PATCH /devices/{id}': { body: devicePatchSchema, answer: deviceSchema },
  'PUT /devices/{id}': { body: devicePutSchema, answer: deviceSchema },
  'DELETE /devices/{id}': { answer: deletedDeviceSchema },
  'GET /devices/{id}/details': { answer: deviceDetailsSchema },
  'GET /devices/{id}/messages': { query: recentMessagesQuerySchema, answer: recentMessagesSchema },
  'POST /devices/{id}/rotate-mqtt-password': { answer: rotatedPasswordSchema },
  'GET /backups': { query: backupsQuerySchema, answer: backupsSchema },
  'POST /backups': { answer: startedBackupSchema },
  'GET /enrolment': { answer: enrolmentSchema },
  'POST /enrolment': { body: newEnrolmentSchema, answer: openedEnrolmentSchema },
  'GET /devices/{id}/gps': { query: historyQuerySchema(GPS_FORMATS), answer: z.array(gpsRecordSchema) },
  'GET /devices/{id}/gps/latest': { answer: gpsRecordSchema },
  'GET /devices/{id}/battery': {
    query: historyQuerySchema(BATTERY_FORMATS),
    answer: z.array(batteryRecordSchema),
  },
  'GET /devices/{id}/battery/latest': { answer: batteryRecordSchema },
  'GET /devices/{id}/telemetry/stats': { answer: telemetryStatsSchema },
  'POST /devices/{id}/telemetry/import': { body: telemetryImportSchema, answer: importedTelemetrySchema },
  'DELETE /devices/{id}/telemetry': { answer: purgedDeviceSchema },
  'DELETE /devices/{id}/telemetry/gps': { answer: deletedRecordsSchema },
  'DELETE /devices/{id}/telemetry/battery': { answer: deletedRecordsSchema },
  'GET /telemetry/months': { query: storedMonthsQuerySchema, answer: storedMonthsSchema },
  'POST /telemetry/purge': { body: purgeSchema, answer: purgedFleetSchema },
  'GET /carts': { query: cartListQuerySchema, answer: cartListSchema },
  'GET /carts/{cart}': { answer: cartSchema },
  'PATCH /carts/{cart}': { body: cartPatchSchema, answer: cartSchema },
  'GET /rounds/active': { query: activeRoundQuerySchema, answer: activeRoundsSchema },
  'GET /rounds': { query: roundQuerySchema, answer: roundListSchema },
  'GET /lock-events': { query: lockEventQuerySchema, answer: lockEventListSchema },
  'GET /trips/active': { query: activeTripsQuerySchema, answer: activeTripsSchema },
  'GET /trips': { query: tripsQuerySchema, answer: tripsSchema },
  'GET /trips/{hardwareId}': { query: deviceTripsQuerySchema, answer: deviceTripsSchema },
  'GET /trips/{hardwareId}/active': { query: deviceActiveTripQuerySchema, answer: deviceActiveTripSchema },
  'GET /trips/{hardwareId}/summary': { query: tripSummaryQuerySchema, answer: tripSummarySchema },
  'GET /reports/utilisation': { query: monthReportQuerySchema, answer: utilisationSchema },
  'GET /reports/battery': { query: monthReportQuerySchema, answer: batteryReportSchema },
  'GET /reports/traffic': { query: mapReportQuerySchema, answer: trafficSchema },
  'GET /reports/silence': { query: mapReportQuerySchema, answer: silencesSchema },
  'GET /carts/{cart}/track': { query: cartTrackQuerySchema, answer: cartTrackSchema },
  'GET /replay': { query: replayQuerySchema, answer: replaySchema },
  'GET /alerts': { query: alertQuerySchema, answer: alertListSchema },
  'GET /alerts/{id}': { answer: alertSchema },
  'POST /alerts/{id}/acknowledge': { body: alertNoteSchema, answer: alertSchema },
  'POST /alerts/{id}/close': { body: alertNoteSchema, answer: alertSchema },
  'GET /users': { query: oldestListQuerySchema, answer: z.array(userSchema) },
  'POST /users': { body: newUserSchema, answer: issuedKeySchema },
  'GET /users/{id}': { answer: userSchema },
  'PATCH /users/{id}': { body: userPatchSchema, answer: userSchema },
  'DELETE /users/{id}': { answer: deletedUserSchema },
  'POST /users/{id}/rotate-key': { answer: rotatedKeySchema },
  'GET /mqtt/clients': { query: mqttClientListQuerySchema, answer: mqttClientListSchema },
  'DELETE /mqtt/clients/{client_id}': {
    query: removedMqttClientQuerySchema,
    answer: removedMqttClientSchema,
  },
  'GET /mqtt/stats': { answer: mqttStatsSchema },
  'GET /mqtt/addresses': { answer: mqttAddressesSchema },
  'GET /mqtt/quarantine': { query: quarantineQuerySchema, answer: quarantineSchema },
  'GET /zones': { answer: zonesSchema },
  'PUT /zones': { body: newZonesSchema, answer: changedZonesSchema },
  'POST /zones/switch': { body: zoneSwitchSchema, answer: switchedZonesSchema },
  'GET /zones/applied': { answer: appliedZonesSchema },
  'GET /zones/versions': { query: keptZonesQuerySchema, answer: z.array(keptZonesSchema) },
  'POST /zones/versions/{version}/restore': { answer: changedZonesSchema },
  'GET /geofences/{id}/download': { query: geofenceDownloadQuerySchema, answer: groupGeofencesSchema },
  'GET /webhooks': { query: oldestListQuerySchema, answer: z.array(webhookSchema) },
  'POST /webhooks': { body: newWebhookSchema, answer: createdWebhookSchema },
  'DELETE /webhooks/{id}': { answer: deletedWebhookSchema },
  'POST /webhooks/{id}/test': { answer: queuedTestSchema },
  'GET /notifiers': { query: oldestListQuerySchema, answer: z.array(notifierSchema) },
  'POST /notifiers': { body: newNotifierSchema, answer: createdNotifierSchema },
  'PATCH /notifiers/{id}': { body: notifierPatchSchema, answer: notifierSchema },
  'DELETE /notifiers/{id}': { answer: deletedNotifierSchema },
  'POST /notifiers/{id}/test': { answer: queuedTestSchema },
  'GET /course': { answer: courseSchema },
  'PUT /course': { body: newCourseSchema, answer: changedCourseSchema },
  'DELETE /course': { answer: changedCourseSchema },
  'GET /course/photo': { answer: z.string() },
  'PUT /course/photo': { query: coursePhotoQuerySchema, body: imageSchema, answer: changedPhotoSchema },
  'DELETE /course/photo': { answer: changedPhotoSchema },
  'POST /course/propose-zones': { answer: proposedZonesSchema },
  'GET /site': { answer: siteSettingsSchema },
  'GET /recall': { answer: recallStateSchema },
  'POST /recall': { body: newRecallSchema, answer: recallSchema },
  'DELETE /recall': { body: endedRecallSchema, answer: deletedRecallSchema },
  'PATCH /site': { body: siteSettingsPatchSchema, answer: siteSettingsSchema },
  'GET /groups': { query: idListQuerySchema, answer: z.array(groupSchema) },
  'POST /groups': { body: newGroupSchema, answer: groupSchema },
  'GET /groups/{groupId}': { answer: groupSchema },
  'PATCH /groups/{groupId}': { body: groupPatchSchema, answer: groupSchema },
  'DELETE /groups/{groupId}': { answer: deletedGroupSchema },
  'GET /groups/{groupId}/devices': { query: idPageQuerySchema, answer: deviceListSchema },
  'PUT /groups/{groupId}/devices/{id}': { answer: assignmentSchema },
  'DELETE /groups/{groupId}/devices/{id}': { answer: assignmentSchema },
  'POST /devices/{id}/commands': { body: newCommandSchema, answer: commandSchema },
  'GET /devices/{id}/commands': { query: deviceCommandsQuerySchema, answer: commandListSchema },
  'GET /commands': { query: commandsQuerySchema, answer: commandListSchema },
  'GET /commands/{id}': { answer: commandSchema },
  'POST /commands/{id}/retry': { answer: commandSchema },
  'POST /carts/lock': { body: newCartLocksSchema, answer: cartLocksSchema },
  'POST /groups/{groupId}/commands': { body: newGroupCommandSchema, answer: groupCommandsSchema },
  'GET /device-types': { query: idListQuerySchema, answer: z.array(deviceTypeSchema) },
  'GET /device-types/{type}': { answer: deviceTypeSchema },
  'PUT /device-types/{type}': { body: deviceTypePutSchema, answer: putDeviceTypeSchema },
  'GET /groups/{groupId}/config': { answer: groupConfigsSchema },
  'GET /groups/{groupId}/config/{type}': { answer: groupConfigSchema },
  'PUT /groups/{groupId}/config/{type}': { body: newLayerSchema, answer: groupConfigPutSchema },
  'DELETE /groups/{groupId}/config/{type}': { answer: groupConfigPutSchema },
  'GET /devices/{id}/config': { query: deviceConfigQuerySchema, answer: deviceConfigSchema },
  'PUT /devices/{id}/config': { body: newLayerSchema, answer: deviceConfigPutSchema },
  'DELETE /devices/{id}/config': { answer: deviceConfigPutSchema },
  'GET /groups/{groupId}/geofences': { answer: groupGeofencesSchema },
  'PUT /groups/{groupId}/geofences': { body: newGeofencesSchema, answer: changedGeofencesSchema },
  'GET /geofences/{id}': { answer: legacyGeofencesSchema },
  'PUT /geofences/{id}': { body: newGeofencesSchema, answer: changedGeofencesSchema },
  'DELETE /geofences/{id}': { answer: changedGeofencesSchema },
  'GET /geofence-events': { query: geofenceEventQuerySchema, answer: geofenceEventListSchema },
  'GET /me': { answer: meSchema },
  'GET /people': { query: peopleQuerySchema, answer: z.array(personSchema) },
  'PUT /users/{id}/pin': { body: newPinSchema, answer: setPinSchema },
  'POST /sessions': { body: newSessionSchema, answer: meSchema },
  'GET /sessions': { query: oldestListQuerySchema, answer: z.array(sessionSchema) },
  'GET /sessions/current': { answer: currentSessionSchema },
  'DELETE /sessions/current': { answer: signedOutSchema },
  'POST /sessions/current/person': { body: newPersonSchema, answer: meSchema },
  'DELETE /sessions/current/person': { answer: meSchema },
  'POST /sessions/current/key': { answer: rotatedKeySchema },
  'DELETE /sessions/{id}': { answer: signedOutSchema },
  'POST /pairing-codes': { body: newPairingCodeSchema, answer: pairingCodeSchema },
  'POST /access-requests': { body: newAccessRequestSchema, answer: createdAccessRequestSchema },
  'GET /access-requests': { query: oldestListQuerySchema, answer: z.array(accessRequestSchema) },
  'POST /access-requests/{id}/allow': { body: allowedRequestSchema, answer: allowedAccessSchema },
  'DELETE /access-requests/{id}': { answer: deletedAccessRequestSchema },
} satisfies Record<string, OperationSchemas>

type Operations = typeof operations

/** An operation by method and path, such as `GET /devices/{id}`. */
export type OperationName = keyof Operations

/** What an operation answers when all is well. */
export type AnswerOf<Name extends OperationName> = z.output<Operations[Name]['answer']>

type QueryOf<Name extends OperationName> = Operations[Name] extends { query: infer Query extends z.ZodType }
  ? { query?: Loosened<z.input<Query>> }
  : { query?: never }

type BodyOf<Name extends OperationName> = Operations[Name] extends { body: infer Body extends z.ZodType }
  ? { body: z.input<Body> }
  : { body?: never }

type QueryScalar = string | number | boolean

/** One parameter of a query: a list is sent repeated, undefined is not sent. */
export type QueryValue = QueryScalar | readonly QueryScalar[] | undefined

/** In a URL everything is text, so what is read as a number may be given as one. */
type Loosened<Query> = { [Key in keyof Query]: LoosenedValue<Query[Key]> | undefined }
type LoosenedValue<Value> = unknown extends Value
  ? QueryValue
  : Value extends readonly unknown[]
    ? readonly QueryScalar[]
    : string extends Value
      ? QueryScalar
      : Value

type PathParameter<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParameter<Rest>
  : never

type PathOf<Name extends string> = [PathParameter<Name>] extends [never]
  ? { path?: never }
  : { path: Record<PathParameter<Name>, string | number> }

/** What an operation is given: path parameters, query and body, as far as it has them. */
export type InputOf<Name extends OperationName> = PathOf<Name> & QueryOf<Name> & BodyOf<Name>
