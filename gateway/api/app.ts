import type { OpenAPIHono } from '@hono/zod-openapi'
import { cors } from 'hono/cors'
import { AppError, NotFoundError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { Commands } from '../services/commands.ts'
import type { DeviceConfigs } from '../services/device-configs.ts'
import type { DeviceTypes } from '../services/device-types.ts'
import type { Devices } from '../services/devices.ts'
import type { GeofenceTokens } from '../services/geofence-tokens.ts'
import type { Groups } from '../services/groups.ts'
import type { QueuedMessage } from '../services/ingest.ts'
import type { KeyGuard } from '../services/key-guard.ts'
import type { Presence } from '../services/presence.ts'
import type { Telemetry } from '../services/telemetry.ts'
import type { TelemetryImport } from '../services/telemetry-import.ts'
import type { Trips } from '../services/trips.ts'
import type { Store } from '../store/store.ts'
import { allowedMethods } from './allowed-methods.ts'
import { type ApiEnv, createApi } from './api-env.ts'
import { createCommandsApi } from './commands.ts'
import { createDeviceConfigsApi } from './device-configs.ts'
import { createDeviceTypesApi } from './device-types.ts'
import { createDevicesApi } from './devices.ts'
import { createDocsApi } from './docs.ts'
import { createGeofenceDownloadApi } from './geofence-download.ts'
import { createGeofenceEventsApi } from './geofence-events.ts'
import { createGeofencesApi, type GeofencesApiDeps } from './geofences.ts'
import { createGroupsApi } from './groups.ts'
import { adminOnly, withKey, withRequestId } from './guards.ts'
import { createHistoryApi } from './history.ts'
import { createLockEventsApi } from './lock-events.ts'
import { createMqttApi, type MqttApiDeps } from './mqtt.ts'
import { createOpenApiDocument } from './openapi.ts'
import { createErrorHandler, problemOf } from './problem.ts'
import { createHealthApi, createSystemApi, type SystemApiDeps } from './system.ts'
import { createTelemetryApi } from './telemetry.ts'
import { createTelemetryImportApi } from './telemetry-import.ts'
import { createTripsApi } from './trips.ts'
import { createUsersApi } from './users.ts'

export interface AppDeps extends SystemApiDeps, MqttApiDeps, GeofencesApiDeps {
  store: Pick<Store<QueuedMessage>, 'read' | 'readers' | 'health' | 'queue'>
  devices: Devices
  commands: Commands
  groups: Groups
  geofenceTokens: GeofenceTokens
  deviceTypes: DeviceTypes
  deviceConfigs: DeviceConfigs
  telemetry: Telemetry
  trips: Trips
  telemetryImport: TelemetryImport
  presence: Presence
  keyGuard: KeyGuard
  log: Log
  corsOrigins: string[]
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
    createDocsApi(() => createOpenApiDocument(app, { withKey: door, adminOnly })),
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

  app.onError(createErrorHandler(log))
  app.notFound((c) => {
    const allowed = allowedMethods(app.routes, c.req.path)
    const { requestId } = c.var
    if (allowed.length === 0) {
      const { status, body, headers } = problemOf(
        new NotFoundError('not_found', `there is nothing at ${c.req.path}`),
        requestId,
      )
      return c.body(JSON.stringify(body), status, headers)
    }
    const refusal = new AppError('invalid', 'method_not_allowed', `${c.req.method} is not possible here`)
    const { body, headers } = problemOf(refusal, requestId)
    return c.body(JSON.stringify({ ...body, status: 405, title: 'Method Not Allowed' }), 405, {
      ...headers,
      allow: allowed.join(', '),
    })
  })
  return app
}
