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
import { adminOnly, operatorOnly, rejectNullBytes, withHubKey } from './guards.ts'
import { createHealthApi } from './health.ts'
import { createIntentsApi } from './intents.ts'
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
import { SITE_PARTIES } from './site-parties.ts'
import { SITE_SERVICE_ENTRIES, SITE_SERVICE_PLANS } from './site-service.ts'
import { createSiteTripsApi } from './site-trips.ts'
import { createSitesApi } from './sites.ts'
import { TAGS } from './tags.ts'
import { createHubUsersApi } from './users.ts'

/** Rules for all operations, as CommonMark: the description of the API in `/openapi.json`. */
const INTRODUCTION = `Hub of several sites. Each site has a fleet gateway, which works without the hub and sends it \
all its data.

- **Keys.** Send your key in \`X-API-Key\`, or as \`Authorization: Bearer\`. A viewer reads the sites in its \
\`site_ids\`, an operator may also create intents there, an admin sees all sites and administers them. Only \
\`/health\`, \`/openapi.json\` and \`/docs\` need no key.
- **The same API as a gateway.** Below \`/sites/{site}\` devices, histories, events and trips have the paths, \
parameters, formats, limits and error codes of the gateway's own API, and the same records give the same trips.
- **Freshness.** While a site is connected, the states of its devices are only seconds old, even while a backlog of \
older records is pending. \`/sites\` shows how fresh each site is, how large its backlog is, and how many records its \
gateway deleted before it could send them.
- **Intents.** Only a gateway changes data of its site. \`POST /sites/{site}/intents\` asks it for a change: the \
gateway applies the intent once or not at all, and reports the result.
- **Errors** are \`application/problem+json\` (RFC 9457). Branch on \`code\`, show \`detail\`, and look into \
\`errors\` for each wrong field or parameter. Nothing is stored when a request is refused.
- **Everywhere.** 401 without a good key, 403 outside the scope, 404 for a path or id that does not exist, 429 above \
the request rate or for failed keys after twenty a minute (wait \`Retry-After\` seconds), 503 while the database does \
not answer. HEAD answers as GET, without the body. A slash at the end of a path makes no difference.
- **Bodies** are JSON objects. The hub refuses unknown fields and ignores unknown query parameters.
- **Answers** have \`X-Request-Id\`, your own if you sent one. Fields and values may be added with any version: ignore \
what you do not know.
- **Times** are ISO 8601 in UTC with milliseconds. Speeds are km/h, distances metres, durations seconds, positions \
degrees of WGS 84, voltages volts.
- **Pages** have \`limit\` and \`offset\`; an offset past the end is an empty page. \`before=\` with the id of the \
last item continues from there, which costs less than an offset in a long list.
- **Lists** have \`order=asc\` or \`order=desc\`, and are CSV by \`format=csv\` or \`Accept: text/csv\`: the rows that \
JSON has, with the names of their fields as header.
- **Parameters** that are lists are repeated (\`?hardware_ids=a&hardware_ids=b\`) or comma-separated \
(\`?hardware_ids=a,b\`); \`hardware_ids[]=a\` is the same. Another one that is given twice is an error.`

/** Routes that only read a site, in the order of the API's document. */
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
  SITE_PARTIES,
  SITE_SERVICE_ENTRIES,
  SITE_SERVICE_PLANS,
  SITE_CARTS,
  SITE_CART,
  SITE_AUDIT_LOG,
  SITE_REVISIONS,
]

/** Mounts the API of the hub for users and their programs. Routes mounted after it need a user's key. */
export function addPeopleApi(app: OpenAPIHono<HubEnv>, deps: PeopleApiDeps): void {
  const { database, clock, monotonicClock, requestsPerSecond, onKeyUsed, settings } = deps
  const budgets = createHubBudgets(requestsPerSecond, monotonicClock)
  const door = withHubKey(new HubKeyGuard(database, budgets, onKeyUsed))
  const about = {
    title: 'cartbarn hub',
    description: INTRODUCTION,
    server: 'The hub',
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
  app.use(rejectNullBytes)
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
