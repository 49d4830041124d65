import type { OpenAPIHono } from '@hono/zod-openapi'
import { seesCodes } from '#domain/access.ts'
import type { CartNotesPatch } from '#services/carts/cart-notebook.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { RememberedQueries } from '#shared/http/remembered-queries.ts'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body, jsonText } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { toCartJson } from '#shared/wire/cart-json.ts'
import {
  type CartPatch,
  cartListQuerySchema,
  cartListSchema,
  cartParams,
  cartPatchSchema,
  cartSchema,
} from '#shared/wire/carts.ts'
import { type ApiEnv, createApi, staffOnly } from './api-env.ts'
import type { CourseDeps, PeopleDeps } from './deps.ts'
import { CartListTexts } from './shown/cart-list-texts.ts'

/** `/carts`: what people drive, put together of the devices that are in it. */
export function createCartsApi({
  carts,
  visibleCarts,
  cartNotes,
  users,
}: PeopleDeps & CourseDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()
  const queries = new RememberedQueries(cartListQuerySchema)
  const texts = new CartListTexts(visibleCarts)

  const list = listRoute('/carts', 'List carts', {
    description:
      'All carts with a device in scope, in natural order. What is said of a cart comes from its devices in scope alone.',
    request: { query: cartListQuerySchema },
    responses: answers(cartListSchema, 'Carts in scope, and how many there are of each kind.', 400),
  })
  // what tablets ask for all the time: described like the others, its text is put together of texts that are kept
  api.openAPIRegistry.registerPath(list)
  api.get(list.getRoutingPath(), list.asTable, (c) => {
    const { caller } = c.get('user')
    const seen = inOrder(visibleCarts.all(caller), queries.of(c).order)
    return jsonText(c, texts.of(seen, !seesCodes(caller)))
  })

  api.openapi(
    route.get('/carts/{cart}', 'Get a cart', {
      request: { params: cartParams },
      responses: answers(cartSchema, 'The cart.', 403, 404),
    }),
    (c) => {
      const { caller } = c.var.user
      const cart = visibleCarts.require(caller, c.req.valid('param').cart)
      return c.json(toCartJson(visibleCarts.shown(cart), !seesCodes(caller)), 200)
    },
  )

  api.openapi(
    route.patch('/carts/{cart}', 'Change what is said of a cart', {
      description:
        'A cart that is out of service opens no alerts and is exempt from nothing. An exempt cart may be in zones of these types, and its devices are told so by zone_exempt of their configuration. For staff.',
      middleware: [staffOnly, jsonBody],
      request: { params: cartParams, body: body(cartPatchSchema) },
      responses: answers(cartSchema, 'The cart as it is now.', 400, 403, 404, 413, 415),
    }),
    async (c) => {
      const { caller } = c.var.user
      const { key } = visibleCarts.require(caller, c.req.valid('param').cart)
      const { userId } = caller
      const by = { userId, name: users.find(userId)?.row.name ?? '' }
      await cartNotes.change(key, toNotesPatch(c.req.valid('json')), by)
      carts.touch(key)
      return c.json(
        toCartJson(visibleCarts.shown(visibleCarts.require(caller, key)), !seesCodes(caller)),
        200,
      )
    },
  )

  return api
}

function toNotesPatch({ out_of_service, exempt, note }: CartPatch): CartNotesPatch {
  return {
    ...(out_of_service === undefined ? {} : { outOfService: out_of_service }),
    ...(exempt === undefined
      ? {}
      : {
          exempt: exempt && {
            zoneTypes: [...new Set(exempt.zone_types)],
            why: exempt.why,
            ...(exempt.until === undefined ? {} : { untilMs: exempt.until }),
          },
        }),
    ...(note === undefined ? {} : { note }),
  }
}
