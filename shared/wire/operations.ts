// Written from the routes of the gateway by npm run check -- --operations.
import { z } from 'zod'
import * as accessRequests from './access-requests.ts'
import * as alerts from './alerts.ts'
import * as auditLog from './audit-log.ts'
import * as backups from './backups.ts'
import * as cartLocks from './cart-locks.ts'
import * as carts from './carts.ts'
import * as clock from './clock.ts'
import * as commands from './commands.ts'
import * as course from './course.ts'
import * as deviceConfigs from './device-configs.ts'
import * as deviceImport from './device-import.ts'
import * as deviceTypes from './device-types.ts'
import * as devices from './devices.ts'
import * as enrolment from './enrolment.ts'
import * as erasures from './erasures.ts'
import * as geofenceEvents from './geofence-events.ts'
import * as geofences from './geofences.ts'
import * as groups from './groups.ts'
import * as lockEvents from './lock-events.ts'
import * as machineChecklist from './machine/checklist.ts'
import * as machineRepairs from './machine/repairs.ts'
import * as messagesMessages from './messages/messages.ts'
import * as messagesTexts from './messages/texts.ts'
import * as mqttStatus from './mqtt-status.ts'
import * as notifiers from './notifiers.ts'
import * as partiesParties from './parties/parties.ts'
import * as recall from './recall.ts'
import * as replicationSyncFile from './replication/sync-file.ts'
import * as reports from './reports.ts'
import * as rounds from './rounds.ts'
import * as schemaParams from './schema/params.ts'
import * as serviceService from './service/service.ts'
import * as sessions from './sessions.ts'
import * as site from './site.ts'
import * as syncStatus from './sync-status.ts'
import * as system from './system.ts'
import * as telemetry from './telemetry.ts'
import * as telemetryImport from './telemetry-import.ts'
import * as tls from './tls.ts'
import * as tracks from './tracks.ts'
import * as trips from './trips.ts'
import * as users from './users.ts'
import * as webhooks from './webhooks.ts'
import * as zones from './zones.ts'

/** The schemas of what each operation of the API takes and answers, by method and path. */
export const operations = {
  'GET /health': { answer: system.healthSchema },
  'POST /sessions': { body: sessions.newSessionSchema, answer: sessions.meSchema },
  'GET /sessions/current': { answer: sessions.currentSessionSchema },
  'POST /access-requests': {
    body: accessRequests.newAccessRequestSchema,
    answer: accessRequests.createdAccessRequestSchema,
  },
  'GET /geofences/{id}/download': {
    query: geofences.geofenceDownloadQuerySchema,
    answer: geofences.groupGeofencesSchema,
  },
  'GET /setup/restore/{restore_id}': { answer: backups.restoreStateSchema },
  'GET /stats': { answer: system.statsSchema },
  'GET /metrics': { answer: z.string() },
  'POST /clock/confirm': { body: clock.clockConfirmationSchema, answer: clock.confirmedClockSchema },
  'POST /machine/confirm': { answer: system.confirmedMachineSchema },
  'GET /tls': { answer: tls.tlsSchema },
  'GET /repairs': { answer: machineRepairs.repairsSchema },
  'POST /repairs/accept': { answer: machineRepairs.acceptedLossSchema },
  'POST /tls/renew': { answer: tls.certificateSchema },
  'GET /site': { answer: site.siteSettingsSchema },
  'PATCH /site': { body: site.siteSettingsPatchSchema, answer: site.siteSettingsSchema },
  'GET /checklist': { answer: machineChecklist.checklistSchema },
  'GET /course': { answer: course.courseSchema },
  'PUT /course': { body: course.newCourseSchema, answer: course.changedCourseSchema },
  'DELETE /course': { answer: course.changedCourseSchema },
  'GET /course/photo': { answer: z.string() },
  'PUT /course/photo': {
    query: course.coursePhotoQuerySchema,
    body: course.imageSchema,
    answer: course.changedPhotoSchema,
  },
  'DELETE /course/photo': { answer: course.changedPhotoSchema },
  'POST /course/propose-zones': { answer: course.proposedZonesSchema },
  'GET /carts': { query: carts.cartListQuerySchema, answer: carts.cartListSchema },
  'GET /carts/{cart}': { answer: carts.cartSchema },
  'PATCH /carts/{cart}': { body: carts.cartPatchSchema, answer: carts.cartSchema },
  'GET /carts/{cart}/meter': { answer: serviceService.meterSchema },
  'GET /service-entries': {
    query: serviceService.serviceEntryQuerySchema,
    answer: serviceService.serviceEntryListSchema,
  },
  'POST /service-entries': { body: serviceService.newServiceEntrySchema, answer: serviceService.serviceEntrySchema },
  'PATCH /service-entries/{id}': {
    body: serviceService.serviceEntryPatchSchema,
    answer: serviceService.serviceEntrySchema,
  },
  'DELETE /service-entries/{id}': { answer: serviceService.deletedServiceSchema },
  'GET /service-plans': { query: schemaParams.oldestListQuerySchema, answer: serviceService.servicePlansSchema },
  'POST /service-plans': { body: serviceService.newServicePlanSchema, answer: serviceService.servicePlanSchema },
  'PATCH /service-plans/{id}': {
    body: serviceService.servicePlanPatchSchema,
    answer: serviceService.servicePlanSchema,
  },
  'DELETE /service-plans/{id}': { answer: serviceService.deletedServiceSchema },
  'GET /service-due': { query: serviceService.dueQuerySchema, answer: serviceService.dueListSchema },
  'GET /parties': { query: partiesParties.partyQuerySchema, answer: partiesParties.partyListSchema },
  'POST /parties': { body: partiesParties.newPartySchema, answer: partiesParties.partyResultsSchema },
  'POST /parties/import': {
    query: partiesParties.sheetQuerySchema,
    body: partiesParties.teeSheetSchema,
    answer: partiesParties.sheetResultSchema,
  },
  'GET /parties/{id}': { answer: partiesParties.partySchema },
  'PATCH /parties/{id}': { body: partiesParties.partyPatchSchema, answer: partiesParties.partySchema },
  'DELETE /parties/{id}': { answer: partiesParties.deletedPartySchema },
  'POST /parties/{id}/carts': { body: partiesParties.handOutSchema, answer: partiesParties.partyResultsSchema },
  'POST /parties/{id}/return': { body: partiesParties.partyReturnSchema, answer: partiesParties.partyResultsSchema },
  'POST /parties/{id}/notes': { body: partiesParties.newPartyNoteSchema, answer: partiesParties.partySchema },
  'GET /recall': { answer: recall.recallStateSchema },
  'POST /recall': { body: recall.newRecallSchema, answer: recall.recallSchema },
  'DELETE /recall': { body: recall.endedRecallSchema, answer: recall.deletedRecallSchema },
  'POST /messages': { body: messagesMessages.newMessageSchema, answer: messagesMessages.messageSchema },
  'GET /messages': { query: messagesMessages.messageQuerySchema, answer: messagesMessages.messageListSchema },
  'GET /messages/{id}': { answer: messagesMessages.messageSchema },
  'GET /texts': { answer: z.array(messagesTexts.readyTextSchema) },
  'PUT /texts': { body: messagesTexts.newReadyTextsSchema, answer: z.array(messagesTexts.readyTextSchema) },
  'GET /mqtt/clients': { query: mqttStatus.mqttClientListQuerySchema, answer: mqttStatus.mqttClientListSchema },
  'DELETE /mqtt/clients/{client_id}': {
    query: mqttStatus.removedMqttClientQuerySchema,
    answer: mqttStatus.removedMqttClientSchema,
  },
  'GET /mqtt/stats': { answer: mqttStatus.mqttStatsSchema },
  'GET /mqtt/addresses': { answer: mqttStatus.mqttAddressesSchema },
  'GET /mqtt/quarantine': { query: mqttStatus.quarantineQuerySchema, answer: mqttStatus.quarantineSchema },
  'GET /devices': { query: devices.deviceListQuerySchema, answer: devices.deviceListSchema },
  'POST /devices': { body: devices.newDeviceSchema, answer: devices.registeredDeviceSchema },
  'GET /devices/{id}': { answer: devices.deviceSchema },
  'GET /devices/{id}/details': { answer: devices.deviceDetailsSchema },
  'GET /devices/{id}/messages': { query: devices.recentMessagesQuerySchema, answer: devices.recentMessagesSchema },
  'PATCH /devices/{id}': { body: devices.devicePatchSchema, answer: devices.deviceSchema },
  'PUT /devices/{id}': { body: devices.devicePutSchema, answer: devices.deviceSchema },
  'DELETE /devices/{id}': { answer: devices.deletedDeviceSchema },
  'POST /devices/{id}/rotate-mqtt-password': { answer: devices.rotatedPasswordSchema },
  'POST /devices/import': {
    query: deviceImport.deviceImportQuerySchema,
    body: deviceImport.deviceFileSchema,
    answer: deviceImport.deviceImportSchema,
  },
  'GET /backups': { query: backups.backupsQuerySchema, answer: backups.backupsSchema },
  'POST /backups': { answer: backups.startedBackupSchema },
  'GET /setup/places': { answer: backups.setUpPlacesSchema },
  'PUT /setup/upload': { query: backups.uploadQuerySchema, body: backups.pieceSchema, answer: backups.uploadedSchema },
  'POST /setup/backups': { body: backups.listedBackupsQuerySchema, answer: backups.foundBackupsSchema },
  'POST /setup/restore': { body: backups.newRestoreSchema, answer: backups.startedRestoreSchema },
  'GET /enrolment': { answer: enrolment.enrolmentSchema },
  'POST /enrolment': { body: enrolment.newEnrolmentSchema, answer: enrolment.openedEnrolmentSchema },
  'GET /groups': { query: schemaParams.idListQuerySchema, answer: z.array(groups.groupSchema) },
  'POST /groups': { body: groups.newGroupSchema, answer: groups.groupSchema },
  'GET /groups/{groupId}': { answer: groups.groupSchema },
  'PATCH /groups/{groupId}': { body: groups.groupPatchSchema, answer: groups.groupSchema },
  'DELETE /groups/{groupId}': { answer: groups.deletedGroupSchema },
  'GET /groups/{groupId}/devices': { query: schemaParams.idPageQuerySchema, answer: devices.deviceListSchema },
  'PUT /groups/{groupId}/devices/{id}': { answer: groups.assignmentSchema },
  'DELETE /groups/{groupId}/devices/{id}': { answer: groups.assignmentSchema },
  'POST /devices/{id}/commands': { body: commands.newCommandSchema, answer: commands.commandSchema },
  'GET /devices/{id}/commands': { query: commands.deviceCommandsQuerySchema, answer: commands.commandListSchema },
  'GET /commands': { query: commands.commandsQuerySchema, answer: commands.commandListSchema },
  'GET /commands/{id}': { answer: commands.commandSchema },
  'POST /commands/{id}/retry': { answer: commands.commandSchema },
  'POST /groups/{groupId}/commands': { body: commands.newGroupCommandSchema, answer: commands.groupCommandsSchema },
  'POST /carts/lock': { body: cartLocks.newCartLocksSchema, answer: cartLocks.cartLocksSchema },
  'GET /device-types': { query: schemaParams.idListQuerySchema, answer: z.array(deviceTypes.deviceTypeSchema) },
  'GET /device-types/{type}': { answer: deviceTypes.deviceTypeSchema },
  'PUT /device-types/{type}': { body: deviceTypes.deviceTypePutSchema, answer: deviceTypes.putDeviceTypeSchema },
  'GET /groups/{groupId}/config': { answer: deviceConfigs.groupConfigsSchema },
  'GET /groups/{groupId}/config/{type}': { answer: deviceConfigs.groupConfigSchema },
  'PUT /groups/{groupId}/config/{type}': {
    body: deviceConfigs.newLayerSchema,
    answer: deviceConfigs.groupConfigPutSchema,
  },
  'DELETE /groups/{groupId}/config/{type}': { answer: deviceConfigs.groupConfigPutSchema },
  'GET /devices/{id}/config': {
    query: deviceConfigs.deviceConfigQuerySchema,
    answer: deviceConfigs.deviceConfigSchema,
  },
  'PUT /devices/{id}/config': { body: deviceConfigs.newLayerSchema, answer: deviceConfigs.deviceConfigPutSchema },
  'DELETE /devices/{id}/config': { answer: deviceConfigs.deviceConfigPutSchema },
  'GET /devices/{id}/gps': { query: telemetry.gpsHistoryQuerySchema, answer: z.array(telemetry.gpsRecordSchema) },
  'GET /devices/{id}/battery': {
    query: telemetry.batteryHistoryQuerySchema,
    answer: z.array(telemetry.batteryRecordSchema),
  },
  'GET /devices/{id}/gps/latest': { answer: telemetry.gpsRecordSchema },
  'GET /devices/{id}/battery/latest': { answer: telemetry.batteryRecordSchema },
  'GET /devices/{id}/telemetry/stats': { answer: telemetry.telemetryStatsSchema },
  'DELETE /devices/{id}/telemetry': { answer: telemetry.purgedDeviceSchema },
  'DELETE /devices/{id}/telemetry/gps': { answer: telemetry.deletedRecordsSchema },
  'DELETE /devices/{id}/telemetry/battery': { answer: telemetry.deletedRecordsSchema },
  'GET /telemetry/months': { query: telemetry.storedMonthsQuerySchema, answer: telemetry.storedMonthsSchema },
  'POST /telemetry/purge': { body: telemetry.purgeSchema, answer: telemetry.purgedFleetSchema },
  'POST /devices/{id}/telemetry/import': {
    body: telemetryImport.telemetryImportSchema,
    answer: telemetryImport.importedTelemetrySchema,
  },
  'GET /lock-events': { query: lockEvents.lockEventQuerySchema, answer: lockEvents.lockEventListSchema },
  'GET /trips/active': { query: trips.activeTripsQuerySchema, answer: trips.activeTripsSchema },
  'GET /trips': { query: trips.tripsQuerySchema, answer: trips.tripsSchema },
  'GET /trips/{hardwareId}': { query: trips.deviceTripsQuerySchema, answer: trips.deviceTripsSchema },
  'GET /trips/{hardwareId}/active': { query: trips.deviceActiveTripQuerySchema, answer: trips.deviceActiveTripSchema },
  'GET /trips/{hardwareId}/summary': { query: trips.tripSummaryQuerySchema, answer: trips.tripSummarySchema },
  'GET /reports/utilisation': { query: reports.monthReportQuerySchema, answer: reports.utilisationSchema },
  'GET /reports/battery': { query: reports.monthReportQuerySchema, answer: reports.batteryReportSchema },
  'GET /reports/traffic': { query: reports.mapReportQuerySchema, answer: reports.trafficSchema },
  'GET /reports/silence': { query: reports.mapReportQuerySchema, answer: reports.silencesSchema },
  'GET /reports/day': { query: reports.daySummaryQuerySchema, answer: reports.daySummarySchema },
  'GET /reports/month': { query: reports.monthSummaryQuerySchema, answer: reports.monthSummarySchema },
  'GET /carts/{cart}/track': { query: tracks.cartTrackQuerySchema, answer: tracks.cartTrackSchema },
  'GET /replay': { query: tracks.replayQuerySchema, answer: tracks.replaySchema },
  'GET /rounds/active': { query: rounds.activeRoundQuerySchema, answer: rounds.activeRoundsSchema },
  'GET /rounds': { query: rounds.roundQuerySchema, answer: rounds.roundListSchema },
  'GET /pace': { answer: rounds.paceSchema },
  'GET /groups/{groupId}/geofences': { answer: geofences.groupGeofencesSchema },
  'PUT /groups/{groupId}/geofences': { body: geofences.newGeofencesSchema, answer: geofences.changedGeofencesSchema },
  'GET /geofences/{id}': { answer: geofences.legacyGeofencesSchema },
  'PUT /geofences/{id}': { body: geofences.newGeofencesSchema, answer: geofences.changedGeofencesSchema },
  'DELETE /geofences/{id}': { answer: geofences.changedGeofencesSchema },
  'GET /zones': { answer: zones.zonesSchema },
  'PUT /zones': { body: zones.newZonesSchema, answer: zones.changedZonesSchema },
  'GET /zones/versions': { query: zones.keptZonesQuerySchema, answer: z.array(zones.keptZonesSchema) },
  'POST /zones/versions/{version}/restore': { answer: zones.changedZonesSchema },
  'POST /zones/switch': { body: zones.zoneSwitchSchema, answer: zones.switchedZonesSchema },
  'GET /zones/applied': { answer: zones.appliedZonesSchema },
  'GET /geofence-events': {
    query: geofenceEvents.geofenceEventQuerySchema,
    answer: geofenceEvents.geofenceEventListSchema,
  },
  'GET /alerts': { query: alerts.alertQuerySchema, answer: alerts.alertListSchema },
  'GET /alerts/{id}': { answer: alerts.alertSchema },
  'POST /alerts/{id}/acknowledge': { body: alerts.alertNoteSchema, answer: alerts.alertSchema },
  'POST /alerts/{id}/close': { body: alerts.alertNoteSchema, answer: alerts.alertSchema },
  'GET /webhooks': { query: schemaParams.oldestListQuerySchema, answer: z.array(webhooks.webhookSchema) },
  'POST /webhooks': { body: webhooks.newWebhookSchema, answer: webhooks.createdWebhookSchema },
  'DELETE /webhooks/{id}': { answer: webhooks.deletedWebhookSchema },
  'POST /webhooks/{id}/test': { answer: webhooks.queuedTestSchema },
  'GET /notifiers': { query: schemaParams.oldestListQuerySchema, answer: z.array(notifiers.notifierSchema) },
  'POST /notifiers': { body: notifiers.newNotifierSchema, answer: notifiers.createdNotifierSchema },
  'PATCH /notifiers/{id}': { body: notifiers.notifierPatchSchema, answer: notifiers.notifierSchema },
  'DELETE /notifiers/{id}': { answer: notifiers.deletedNotifierSchema },
  'POST /notifiers/{id}/test': { answer: webhooks.queuedTestSchema },
  'GET /mail-reports': { query: schemaParams.oldestListQuerySchema, answer: z.array(notifiers.mailReportSchema) },
  'POST /mail-reports': { body: notifiers.newMailReportSchema, answer: notifiers.createdMailReportSchema },
  'PATCH /mail-reports/{id}': { body: notifiers.mailReportPatchSchema, answer: notifiers.mailReportSchema },
  'DELETE /mail-reports/{id}': { answer: notifiers.deletedMailReportSchema },
  'POST /mail-reports/{id}/test': { answer: webhooks.queuedTestSchema },
  'GET /users': { query: schemaParams.oldestListQuerySchema, answer: z.array(users.userSchema) },
  'POST /users': { body: users.newUserSchema, answer: users.issuedKeySchema },
  'GET /users/{id}': { answer: users.userSchema },
  'PATCH /users/{id}': { body: users.userPatchSchema, answer: users.userSchema },
  'DELETE /users/{id}': { answer: users.deletedUserSchema },
  'POST /users/{id}/rotate-key': { answer: users.rotatedKeySchema },
  'PUT /users/{id}/pin': { body: sessions.newPinSchema, answer: sessions.setPinSchema },
  'GET /me': { answer: sessions.meSchema },
  'GET /people': { query: sessions.peopleQuerySchema, answer: z.array(sessions.personSchema) },
  'GET /sessions': { query: schemaParams.oldestListQuerySchema, answer: z.array(sessions.sessionSchema) },
  'DELETE /sessions/current': { answer: sessions.signedOutSchema },
  'POST /sessions/current/person': { body: sessions.newPersonSchema, answer: sessions.meSchema },
  'DELETE /sessions/current/person': { answer: sessions.meSchema },
  'POST /sessions/current/key': { answer: users.rotatedKeySchema },
  'DELETE /sessions/{id}': { answer: sessions.signedOutSchema },
  'POST /pairing-codes': { body: sessions.newPairingCodeSchema, answer: sessions.pairingCodeSchema },
  'GET /access-requests': {
    query: schemaParams.oldestListQuerySchema,
    answer: z.array(accessRequests.accessRequestSchema),
  },
  'POST /access-requests/{id}/allow': {
    body: accessRequests.allowedRequestSchema,
    answer: accessRequests.allowedAccessSchema,
  },
  'DELETE /access-requests/{id}': { answer: accessRequests.deletedAccessRequestSchema },
  'GET /audit-log': { query: auditLog.auditLogQuerySchema, answer: auditLog.auditLogSchema },
  'POST /erasures': { body: erasures.newErasureSchema, answer: erasures.erasureSchema },
  'GET /sync/status': { answer: syncStatus.syncStatusSchema },
  'POST /sync/audit': { answer: syncStatus.startedAuditSchema },
  'GET /sync/export': { answer: z.string() },
  'POST /sync/receipts': {
    body: replicationSyncFile.syncFileReceiptSchema,
    answer: replicationSyncFile.takenReceiptSchema,
  },
}
