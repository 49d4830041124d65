import type { OpenAPIHono } from '@hono/zod-openapi'
import { createHubBudgets } from '#hub/budgets.ts'
import { HubKeyGuard } from '#hub/key-guard.ts'
import { createDocsApi } from '#shared/http/docs/docs.ts'
import { createOpenApiDocument } from '#shared/http/openapi.ts'
import type { PeopleApiDeps } from './deps.ts'
import { createDocsContent } from './docs-content.ts'
import type { HubEnv } from './env.ts'
import { createErasedApi } from './erased.ts'
import { HUB_ERROR_CODES } from './error-codes.ts'
import { adminOnly, operatorOnly, realPathsOnly, withHubKey } from './guards.ts'
import { createHealthApi } from './health.ts'
import { createIntentsApi } from './intents.ts'
import { INTRODUCTION } from './introduction.ts'
import { createMetricsApi } from './metrics.ts'
import { createQuarantineApi } from './quarantine.ts'
import { SITE_ALERT, SITE_ALERTS } from './site-alerts.ts'
import { SITE_CART, SITE_CARTS } from './site-carts.ts'
import { SITE_COURSE, SITE_COURSE_PHOTO } from './site-course.ts'
import { createSiteDevicesApi } from './site-devices.ts'
import { SITE_GEOFENCE_EVENTS, SITE_LOCK_EVENTS } from './site-events.ts'
import { createSiteHistoryApi } from './site-history.ts'
import { siteRoutes } from './site-noun.ts'
import { SITE_AUDIT_LOG, SITE_GROUPS, SITE_REVISIONS, SITE_SETTINGS, SITE_ZONES } from './site-nouns.ts'
import { createSiteTripsApi } from './site-trips.ts'
import { createSitesApi } from './sites.ts'
import { TAGS } from './tags.ts'
import { createHubUsersApi } from './users.ts'

/** What is read of a site, in the order of the API's document. */
const SITE_ROUTES = [
  SITE_LOCK_EVENTS,
  SITE_GEOFENCE_EVENTS,
  SITE_GROUPS,
  SITE_SETTINGS,
  SITE_ZONES,
  SITE_COURSE,
  SITE_COURSE_PHOTO,
  SITE_ALERTS,
  SITE_ALERT,
  SITE_CARTS,
  SITE_CART,
  SITE_AUDIT_LOG,
  SITE_REVISIONS,
]

/** Mounts everything that people and their programs ask of the head office. What is mounted after it needs a user's key. */
export function addPeopleApi(app: OpenAPIHono<HubEnv>, deps: PeopleApiDeps): void {
  const { database, clock, monotonicClock, requestsPerSecond, onKeyUsed, settings } = deps
  const budgets = createHubBudgets(requestsPerSecond, monotonicClock)
  const door = withHubKey(new HubKeyGuard(database, budgets, onKeyUsed))
  const about = {
    title: 'cartbarn head office',
    description: INTRODUCTION,
    server: 'The head office',
    tags: TAGS,
    errorCodes: HUB_ERROR_CODES,
  }
  const doors = { withKey: door, roles: { admin: adminOnly, operator: operatorOnly } }
  app.route('/', createHealthApi(deps))
  app.route(
    '/',
    createDocsApi<HubEnv>(() => createOpenApiDocument(app, doors, about), createDocsContent(settings)),
  )
  app.use(door)
  app.use(realPathsOnly)
  app.route('/', createSitesApi(deps))
  app.route('/', createQuarantineApi(database))
  app.route('/', createSiteDevicesApi(database))
  app.route('/', createErasedApi(deps))
  app.route('/', createSiteHistoryApi(database, budgets.downloads))
  app.route('/', createSiteTripsApi(deps))
  app.route('/', siteRoutes({ sql: database, clock }, SITE_ROUTES))
  app.route('/', createMetricsApi(deps, budgets.refused))
  app.route('/', createIntentsApi(deps))
  app.route('/', createHubUsersApi(deps))
}
