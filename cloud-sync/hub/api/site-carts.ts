import type { OpenAPIHono } from '@hono/zod-openapi'
import { requireSite, seesCodes } from '#hub/access.ts'
import { siteCarts } from '#hub/sites/carts.ts'
import type { Sql } from '#hub/store/database/database.ts'
import { NotFoundError } from '#shared/errors.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { answers } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import type { Clock } from '#shared/time.ts'
import { countCarts, toCartJson } from '#shared/wire/cart-json.ts'
import { cartListQuerySchema, cartListSchema, cartParams, cartSchema } from '#shared/wire/carts.ts'
import { siteParams } from '#shared/wire/sites.ts'
import { createHubPart, type HubEnv } from './env.ts'

/** `/sites/:site/carts`: the carts of a site, judged as its gateway judges them. */
export function createSiteCartsApi(sql: Sql, clock: Clock): OpenAPIHono<HubEnv> {
  const api = createHubPart()

  api.openapi(
    listRoute('/sites/{site}/carts', 'List the carts of a site', {
      description:
        'The same answer as GET /carts of the gateway, judged by what it told last. Carts of a gateway that is not heard of become silent.',
      request: { params: siteParams, query: cartListQuerySchema },
      responses: answers(cartListSchema, 'All carts of the site, in natural order.', 400, 403, 404),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      await requireSite(sql, c.var.user, site)
      const carts = await siteCarts(sql, site, clock.nowMs())
      const masksCodes = !seesCodes(c.var.user)
      return c.json(
        {
          carts: inOrder(carts, c.req.valid('query').order).map((cart) => toCartJson(cart, masksCodes)),
          counts: countCarts(carts),
          has_parking_zone: carts.some(({ ground }) => ground.hasParking),
        },
        200,
      )
    },
  )

  api.openapi(
    route.get('/sites/{site}/carts/{cart}', 'Get a cart of a site', {
      request: { params: siteParams.extend(cartParams.shape) },
      responses: answers(cartSchema, 'The cart as its gateway told last.', 403, 404),
    }),
    async (c) => {
      const { site, cart: id } = c.req.valid('param')
      await requireSite(sql, c.var.user, site)
      const carts = await siteCarts(sql, site, clock.nowMs())
      const found =
        carts.find(({ key }) => key === id) ??
        carts.find(({ devices }) => devices.some(({ hardwareId }) => hardwareId === id))
      if (found === undefined)
        throw new NotFoundError('cart_not_found', `there is no cart ${id} at this site`)
      return c.json(toCartJson(found, !seesCodes(c.var.user)), 200)
    },
  )

  return api
}
