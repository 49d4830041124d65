import type { OpenAPIHono } from '@hono/zod-openapi'
import { cors } from 'hono/cors'
import { originOf } from '#services/people/login.ts'
import { outgoingOf } from '#shared/http/api-env.ts'
import { withAddress } from '#shared/http/client-address.ts'
import { compressed, varyByAccepted, varyByAcceptedToo } from '#shared/http/compressed.ts'
import { createDocsApi } from '#shared/http/docs/docs.ts'
import { createNotFoundHandler } from '#shared/http/not-found.ts'
import { createErrorHandler } from '#shared/http/problem.ts'
import { noStore, withPlainNames, withRequestId } from '#shared/http/request-guards.ts'
import { SESSION_COOKIE } from '#shared/http/session-cookie.ts'
import { createAccessRequestsApi, createAskForAccessApi } from './access-requests.ts'
import { createAlertsApi } from './alerts.ts'
import { type ApiEnv, adminOnly, createApi, isPlain, metricsOnly, staffOnly, withKey } from './api-env.ts'
import { createAuditLogApi } from './audit-log.ts'
import { createCartLocksApi } from './cart-locks.ts'
import { createCartsApi } from './carts.ts'
import { createCommandsApi } from './commands.ts'
import { createCourseApi } from './course.ts'
import { createDashboardApi } from './dashboard/routes.ts'
import type { ApiDeps } from './deps.ts'
import { createDeviceConfigsApi } from './device-configs.ts'
import { createDeviceImportApi } from './device-import.ts'
import { createDeviceTypesApi } from './device-types.ts'
import { createDevicesApi } from './devices.ts'
import { createDocsContent } from './documents/docs-content.ts'
import { createGatewayDocument } from './documents/openapi.ts'
import { createEnrolmentApi } from './enrolment.ts'
import { createErasuresApi } from './erasures.ts'
import { createGeofenceDownloadApi } from './geofence-download.ts'
import { createGeofenceEventsApi } from './geofence-events.ts'
import { createGeofencesApi } from './geofences.ts'
import { createGroupsApi } from './groups.ts'
import { createHelpApi } from './help/routes.ts'
import { createHistoryApi } from './history.ts'
import { createLockEventsApi } from './lock-events.ts'
import { createBackupsApi } from './machine/backups.ts'
import { createChecklistApi } from './machine/checklist.ts'
import { createClockApi } from './machine/clock.ts'
import { createMachineApi } from './machine/machine.ts'
import { createRepairsApi } from './machine/repairs.ts'
import { createRestoreStateApi, createSetUpApi } from './machine/set-up.ts'
import { createTlsApi } from './machine/tls.ts'
import { createMeApi } from './me.ts'
import { createMessagesApi } from './messages/messages.ts'
import { createTextsApi } from './messages/texts.ts'
import { createMqttApi } from './mqtt.ts'
import { createNotifiersApi } from './notifiers.ts'
import { createPartiesApi } from './parties/routes.ts'
import { createRecallApi } from './recall.ts'
import { createMailReportsApi } from './reports/mail-reports.ts'
import { createReportsApi } from './reports/reports.ts'
import { createPaceApi } from './rounds/pace.ts'
import { createRoundsApi } from './rounds/rounds.ts'
import { createServiceApi } from './service/routes.ts'
import { createSessionsApi, createSignInApi } from './sessions.ts'
import { createSiteApi } from './site.ts'
import { createSyncApi } from './sync.ts'
import { createHealthApi, createSystemApi } from './system.ts'
import { createTelemetryApi } from './telemetry.ts'
import { createTelemetryImportApi } from './telemetry-import.ts'
import { createTracksApi } from './tracks.ts'
import { createTripsApi } from './trips.ts'
import { createTrustApi } from './trust/routes.ts'
import { createUsersApi } from './users.ts'
import { createWebhooksApi } from './webhooks.ts'
import { createZoneSwitchesApi } from './zone-switches.ts'
import { createZonesApi } from './zones.ts'

export function createApp(deps: ApiDeps): OpenAPIHono<ApiEnv> {
  const { addresses, origins, users, openAnswers, log, config, settings, plainHttp } = deps
  const { corsOrigins } = config
  const app = createApi()
  const door = withKey(deps)
  const nameOf = (userId: string) => users.find(userId)?.row.name ?? ''

  app.use(withRequestId)
  app.use(noStore)
  app.use(withAddress(addresses))
  app.use(withPlainNames)
  app.use(compressed)
  if (corsOrigins.length > 0) {
    app.use(
      cors({
        origin: corsOrigins.includes('*') ? '*' : corsOrigins,
        exposeHeaders: [
          'X-Request-Id',
          'Location',
          'ETag',
          'Retry-After',
          'Allow',
          'Content-Disposition',
          'Idempotency-Replayed',
        ],
      }),
    )
    app.use(varyByAcceptedToo)
  } else {
    app.use(varyByAccepted)
  }
  app.route('/', createHealthApi(deps))
  app.route('/', createSignInApi(deps))
  app.route('/', createAskForAccessApi(deps))
  app.route('/', createGeofenceDownloadApi(deps))
  app.route(
    '/',
    createDocsApi(
      () =>
        createGatewayDocument(app, {
          withKey: door,
          cookie: SESSION_COOKIE,
          hasNarrowKeys: true,
          roles: { staff: staffOnly, admin: adminOnly, metrics: metricsOnly },
        }),
      createDocsContent(settings),
    ),
  )
  app.route('/', createDashboardApi(deps))
  app.route('/', createHelpApi())
  app.route('/', createTrustApi(deps))
  app.route('/', createRestoreStateApi(deps))
  app.use(door)
  app.use(async (c, next) => {
    if (isPlain(c)) plainHttp?.noteLogin(c.var.user, c.var.address)
    await origins.run(originOf(c.var.user, c.var.address, nameOf), next)
    const outgoing = c.var.isStreamed ? outgoingOf(c) : undefined
    if (outgoing !== undefined) openAnswers.watch(c.var.user, outgoing)
  })
  app.route('/', createSystemApi(deps))
  app.route('/', createClockApi(deps))
  app.route('/', createMachineApi(deps))
  app.route('/', createTlsApi(deps))
  app.route('/', createRepairsApi(deps))
  app.route('/', createSiteApi(deps))
  app.route('/', createChecklistApi(deps))
  app.route('/', createCourseApi(deps))
  app.route('/', createCartsApi(deps))
  app.route('/', createServiceApi(deps))
  app.route('/', createPartiesApi(deps))
  app.route('/', createRecallApi(deps))
  app.route('/', createMessagesApi(deps))
  app.route('/', createTextsApi(deps))
  app.route('/', createMqttApi(deps))
  app.route('/', createDevicesApi(deps))
  app.route('/', createDeviceImportApi(deps))
  app.route('/', createBackupsApi(deps))
  app.route('/', createSetUpApi(deps))
  app.route('/', createEnrolmentApi(deps))
  app.route('/', createGroupsApi(deps))
  app.route('/', createCommandsApi(deps))
  app.route('/', createCartLocksApi(deps))
  app.route('/', createDeviceTypesApi(deps))
  app.route('/', createDeviceConfigsApi(deps))
  app.route('/', createHistoryApi(deps))
  app.route('/', createTelemetryApi(deps))
  app.route('/', createTelemetryImportApi(deps))
  app.route('/', createLockEventsApi(deps))
  app.route('/', createTripsApi(deps))
  app.route('/', createReportsApi(deps))
  app.route('/', createTracksApi(deps))
  app.route('/', createRoundsApi(deps))
  app.route('/', createPaceApi(deps))
  app.route('/', createGeofencesApi(deps))
  app.route('/', createZonesApi(deps))
  app.route('/', createZoneSwitchesApi(deps))
  app.route('/', createGeofenceEventsApi(deps))
  app.route('/', createAlertsApi(deps))
  app.route('/', createWebhooksApi(deps))
  app.route('/', createNotifiersApi(deps))
  app.route('/', createMailReportsApi(deps))
  app.route('/', createUsersApi(deps))
  app.route('/', createMeApi(deps))
  app.route('/', createSessionsApi(deps))
  app.route('/', createAccessRequestsApi(deps))
  app.route('/', createAuditLogApi(deps))
  app.route('/', createErasuresApi(deps))
  app.route('/', createSyncApi(deps))

  app.onError(createErrorHandler(log))
  app.notFound(createNotFoundHandler(app))
  return app
}
