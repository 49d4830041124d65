import type { OpenAPIHono } from '@hono/zod-openapi'
import { cors } from 'hono/cors'
import type { Commands } from '#services/commands/commands.ts'
import type { DeviceConfigs } from '#services/device-configs.ts'
import type { DeviceTypes } from '#services/device-types.ts'
import type { Devices } from '#services/devices.ts'
import type { GeofenceTokens } from '#services/geofence-tokens.ts'
import type { Groups } from '#services/groups.ts'
import type { KeyGuard } from '#services/key-guard.ts'
import type { Presence } from '#services/presence.ts'
import type { TelemetryDeletion } from '#services/telemetry/deletion.ts'
import type { TelemetryImport } from '#services/telemetry/import.ts'
import type { Trips } from '#services/trips.ts'
import { createDocsApi } from '#shared/http/docs/docs.ts'
import type { Setting } from '#shared/http/docs/settings.ts'
import { createNotFoundHandler } from '#shared/http/not-found.ts'
import { createErrorHandler } from '#shared/http/problem.ts'
import { withRequestId } from '#shared/http/request-guards.ts'
import type { Log } from '#shared/log.ts'
import type { Store } from '#store/store.ts'
import { type ApiEnv, adminOnly, createApi, withKey } from './api-env.ts'
import { createCommandsApi } from './commands.ts'
import { createDeviceConfigsApi } from './device-configs.ts'
import { createDeviceTypesApi } from './device-types.ts'
import { createDevicesApi } from './devices.ts'
import { createDocsContent } from './docs-content.ts'
import { createGeofenceDownloadApi } from './geofence-download.ts'
import { createGeofenceEventsApi } from './geofence-events.ts'
import { createGeofencesApi, type GeofencesApiDeps } from './geofences.ts'
import { createGroupsApi } from './groups.ts'
import { createHistoryApi } from './history.ts'
import { createLockEventsApi } from './lock-events.ts'
import { createMqttApi, type MqttApiDeps } from './mqtt.ts'
import { createGatewayDocument } from './openapi.ts'
import { createSyncApi, type SyncApiDeps } from './sync.ts'
import { createHealthApi, createSystemApi, type SystemApiDeps } from './system.ts'
import { createTelemetryApi } from './telemetry.ts'
import { createTelemetryImportApi } from './telemetry-import.ts'
import { createTripsApi } from './trips.ts'
import { createUsersApi } from './users.ts'

export interface AppDeps extends SystemApiDeps, MqttApiDeps, GeofencesApiDeps, SyncApiDeps {
  store: Pick<Store, 'read' | 'readers' | 'health' | 'queue'>
  devices: Devices
  commands: Commands
  groups: Groups
  geofenceTokens: GeofenceTokens
  deviceTypes: DeviceTypes
  deviceConfigs: DeviceConfigs
  telemetry: TelemetryDeletion
  trips: Trips
  telemetryImport: TelemetryImport
  presence: Presence
  keyGuard: KeyGuard
  log: Log
  corsOrigins: string[]
  /** What `/docs` lists. */
  settings: readonly Setting[]
}

/** The HTTP API: the table of contents. */
export function createApp(deps: AppDeps): OpenAPIHono<ApiEnv> {
  const {
    fleet,
    devices,
    commands,
    groups,
    deviceTypes,
    deviceConfigs,
    telemetry,
    telemetryImport,
    presence,
    store,
    users,
    keyGuard,
    log,
    corsOrigins,
    settings,
  } = deps
  const app = createApi()
  const door = withKey(keyGuard)

  app.use(withRequestId)
  if (corsOrigins.length > 0)
    app.use(
      cors({
        origin: corsOrigins.includes('*') ? '*' : corsOrigins,
        exposeHeaders: [
          'X-Request-Id',
          'Location',
          'Retry-After',
          'Allow',
          'Content-Disposition',
          'Idempotency-Replayed',
        ],
      }),
    )
  app.route('/', createHealthApi(deps))
  app.route('/', createGeofenceDownloadApi(deps))
  app.route(
    '/',
    createDocsApi(
      () => createGatewayDocument(app, { withKey: door, roles: { admin: adminOnly } }),
      createDocsContent(settings),
    ),
  )
  app.use(door)
  app.route('/', createSystemApi(deps))
  app.route('/', createMqttApi(deps))
  app.route('/', createDevicesApi({ fleet, devices, deviceConfigs, presence, store }))
  app.route('/', createGroupsApi({ groups, devices, fleet }))
  app.route('/', createCommandsApi({ commands, devices, groups }))
  app.route('/', createDeviceTypesApi(deviceTypes))
  app.route('/', createDeviceConfigsApi({ deviceConfigs, deviceTypes, groups, fleet }))
  app.route('/', createHistoryApi({ devices, store }))
  app.route('/', createTelemetryApi({ fleet, devices, telemetry, store }))
  app.route('/', createTelemetryImportApi({ fleet, telemetryImport }))
  app.route('/', createLockEventsApi(store))
  app.route('/', createTripsApi(deps))
  app.route('/', createGeofencesApi(deps))
  app.route('/', createGeofenceEventsApi(store))
  app.route('/', createUsersApi(users))
  app.route('/', createSyncApi(deps))

  app.onError(createErrorHandler(log))
  app.notFound(createNotFoundHandler(app))
  return app
}
