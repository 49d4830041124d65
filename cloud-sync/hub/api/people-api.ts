import type { OpenAPIHono } from '@hono/zod-openapi'
import { HubKeyGuard } from '#hub/key-guard.ts'
import type { Sites } from '#hub/sites/sites.ts'
import { SiteTrips } from '#hub/sites/trips.ts'
import type { Database } from '#hub/store/database/database.ts'
import { createDocsApi } from '#shared/http/docs/docs.ts'
import type { Setting } from '#shared/http/docs/settings.ts'
import { createOpenApiDocument } from '#shared/http/openapi.ts'
import type { Clock, MonotonicClock } from '#shared/time.ts'
import { createDocsContent } from './docs-content.ts'
import type { HubEnv } from './env.ts'
import { HUB_ERROR_CODES } from './error-codes.ts'
import { adminOnly, operatorOnly, realPathsOnly, withHubKey } from './guards.ts'
import { createHealthApi } from './health.ts'
import { createIntentsApi } from './intents.ts'
import { INTRODUCTION } from './introduction.ts'
import { createQuarantineApi } from './quarantine.ts'
import { createSiteDevicesApi } from './site-devices.ts'
import { createSiteEventsApi } from './site-events.ts'
import { createSiteGroupsApi } from './site-groups.ts'
import { createSiteHistoryApi } from './site-history.ts'
import { createSiteRevisionsApi } from './site-revisions.ts'
import { createSiteTripsApi } from './site-trips.ts'
import { createSitesApi } from './sites.ts'
import { TAGS } from './tags.ts'
import { createHubUsersApi } from './users.ts'

export interface PeopleApiDeps {
  database: Database
  sites: Sites
  clock: Clock
  monotonicClock: MonotonicClock
  /** Of each user; 0 is no limit. */
  requestsPerSecond: number
  /** A new intent waits for the gateway of this site. */
  onIntent: (siteId: string) => void
  /** The settings that `/docs` lists. */
  settings: readonly Setting[]
}

/** Mounts everything that people and their programs ask of the head office. What is mounted after it needs a user's key. */
export function addPeopleApi(app: OpenAPIHono<HubEnv>, deps: PeopleApiDeps): void {
  const { database, clock, monotonicClock, requestsPerSecond, settings } = deps
  const door = withHubKey(new HubKeyGuard(database, monotonicClock, requestsPerSecond))
  const about = {
    title: 'cartbarn head office',
    description: INTRODUCTION,
    server: 'The head office',
    tags: TAGS,
    errorCodes: HUB_ERROR_CODES,
  }
  const doors = { withKey: door, roles: { admin: adminOnly, operator: operatorOnly } }
  app.route('/', createHealthApi({ sql: database, clock }))
  app.route(
    '/',
    createDocsApi<HubEnv>(() => createOpenApiDocument(app, doors, about), createDocsContent(settings)),
  )
  app.use(door)
  app.use(realPathsOnly)
  app.route('/', createSitesApi(deps))
  app.route('/', createQuarantineApi(database))
  app.route('/', createSiteDevicesApi(database))
  app.route('/', createSiteHistoryApi(database))
  app.route('/', createSiteTripsApi({ sql: database, trips: new SiteTrips(database), clock }))
  app.route('/', createSiteEventsApi(database))
  app.route('/', createSiteGroupsApi(database))
  app.route('/', createSiteRevisionsApi(database))
  app.route('/', createIntentsApi(deps))
  app.route('/', createHubUsersApi(deps))
}
