import type { OpenAPIHono } from '@hono/zod-openapi'
import { canSee } from '#domain/access.ts'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { isoOrNull } from '#shared/time.ts'
import { appliedZonesSchema, switchedZonesSchema, zoneSwitchSchema } from '#shared/wire/zones.ts'
import { type ApiEnv, createApi, staffOnly } from './api-env.ts'
import type { CourseDeps, PeopleDeps, ZonesDeps } from './deps.ts'

/** `/zones/switch` and `/zones/applied`: temporary zone overrides, and the carts that have applied the zones. */
export function createZoneSwitchesApi(deps: PeopleDeps & ZonesDeps & CourseDeps): OpenAPIHono<ApiEnv> {
  const { zoneSwitches, zonesApplied, carts, users } = deps
  const api = createApi()

  api.openapi(
    route.post('/zones/switch', 'Switch zones of the site', {
      description:
        'Enables or disables zones temporarily, and publishes them to teeboxes. Afterwards each zone returns to its ' +
        'state before the first switch. Creates a new version of the zones, which is not among the kept ones. For ' +
        'staff and admins.',
      middleware: [staffOnly, jsonBody],
      request: { body: body(zoneSwitchSchema) },
      responses: answers(
        switchedZonesSchema,
        'The zones are switched; nothing has changed if none was named.',
        400,
        403,
        404,
        413,
        415,
      ),
    }),
    async (c) => {
      const { userId } = c.var.user.caller
      const { zone_ids: zoneIds, types, holes, enabled, until } = c.req.valid('json')
      const by = { userId, name: users.find(userId)?.row.name ?? '' }
      const change = { isEnabled: enabled, wantedMs: until, by }
      const switched = await zoneSwitches.switch({ zoneIds, types, holes }, change)
      const { version, untilMs } = switched
      return c.json({ version, switched: switched.zoneIds, until: isoOrNull(untilMs) }, 200)
    },
  )

  api.openapi(
    route.get('/zones/applied', 'Get which carts have the zones of the site', {
      description:
        'By the acknowledgements of teeboxes: the present zones, or later ones of their group. Carts without a ' +
        'teebox in a group are in neither list. Carts in scope, for staff and admins.',
      middleware: [staffOnly],
      responses: answers(appliedZonesSchema, 'The carts in scope, in natural order.', 403),
    }),
    (c) => {
      const { caller } = c.var.user
      const seen = carts.allNow().flatMap((cart) => {
        return carts.seenBy(cart, (hardwareId) => canSee(caller, hardwareId)) ?? []
      })
      return c.json(zonesApplied.of(seen), 200)
    },
  )

  return api
}
