import type { OpenAPIHono } from '@hono/zod-openapi'
import { canSeeCodes } from '#domain/access.ts'
import type { Cart } from '#services/cart.ts'
import type { CartNotesPatch } from '#services/carts/cart-notes-store.ts'
import type { VisibleCarts } from '#services/carts/visible-carts.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { RememberedQueries } from '#shared/http/remembered-queries.ts'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body, jsonText } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { countCarts, toCartJson } from '#shared/wire/cart-json.ts'
import {
  type CartPatch,
  cartListQuerySchema,
  cartListSchema,
  cartParams,
  cartPatchSchema,
  cartSchema,
} from '#shared/wire/carts.ts'
import { type ApiEnv, createApi, requireAdmin, staffOnly } from './api-env.ts'
import type { CourseDeps, PeopleDeps } from './deps.ts'

interface Remembered {
  autoLockAtMs: number | null
  alerts: string
  text: string
}

/** Lists of carts as JSON; the text of a cart is serialised again only after the cart has changed. */
class CartListTexts {
  readonly #carts: VisibleCarts
  readonly #plain = new WeakMap<Cart, Remembered>()
  readonly #masked = new WeakMap<Cart, Remembered>()

  constructor(carts: VisibleCarts) {
    this.#carts = carts
  }

  /** `counted` are all carts in scope, of which `carts` are listed. */
  of(carts: readonly Cart[], counted: readonly Cart[], masksCodes: boolean): string {
    const texts = carts.map((cart) => this.#textOf(cart, masksCodes))
    const hasParkingZone = counted.some(({ zoneContext }) => zoneContext.hasParking)
    const counts = JSON.stringify({ ...countCarts(counted), has_parking_zone: hasParkingZone })
    return `{"carts":[${texts.join(',')}],${counts.slice(1)}`
  }

  #textOf(cart: Cart, masksCodes: boolean): string {
    const remembered = masksCodes ? this.#masked : this.#plain
    const { autoLockAtMs, openAlertIds } = this.#carts.extrasOf(cart)
    const alerts = openAlertIds.join(' ')
    const known = remembered.get(cart)
    if (known?.autoLockAtMs === autoLockAtMs && known.alerts === alerts) return known.text
    const text = JSON.stringify(toCartJson(this.#carts.shown(cart), masksCodes))
    remembered.set(cart, { autoLockAtMs, alerts, text })
    return text
  }
}

/** `/carts`: carts, assembled from the devices in them. */
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
      'All carts with a device in scope, in natural order. The values of a cart come only from its devices in ' +
      'scope.',
    request: { query: cartListQuerySchema },
    responses: answers(cartListSchema, 'Carts in scope, and the number of each kind.', 400),
  })
  // tablets request this continuously: documented like the other routes, but the response is joined from cached texts
  api.openAPIRegistry.registerPath(list)
  api.get(list.getRoutingPath(), list.asTable, (c) => {
    const { caller } = c.get('user')
    const { order, kind } = queries.of(c)
    const seen = visibleCarts.all(caller)
    const listed = kind === undefined ? seen : seen.filter(({ notes }) => notes.kind === kind)
    return jsonText(c, texts.of(inOrder(listed, order), seen, !canSeeCodes(caller)))
  })

  api.openapi(
    route.get('/carts/{cart}', 'Get a cart', {
      request: { params: cartParams },
      responses: answers(cartSchema, 'The cart.', 403, 404),
    }),
    (c) => {
      const { caller } = c.var.user
      const cart = visibleCarts.require(caller, c.req.valid('param').cart)
      return c.json(toCartJson(visibleCarts.shown(cart), !canSeeCodes(caller)), 200)
    },
  )

  api.openapi(
    route.patch('/carts/{cart}', 'Change the notes on a cart', {
      description:
        'A cart that is out of service opens no alerts and is exempt from nothing. An exempt cart may be in ' +
        'zones of these types; its devices receive them as zone_exempt in their configuration. For staff; the kind ' +
        'is for admins.',
      middleware: [staffOnly, jsonBody],
      request: { params: cartParams, body: body(cartPatchSchema) },
      responses: answers(cartSchema, 'The cart as it is now.', 400, 403, 404, 413, 415),
    }),
    async (c) => {
      const { caller } = c.var.user
      const patch = c.req.valid('json')
      if (patch.kind !== undefined) requireAdmin(c.var.user)
      const { key } = visibleCarts.require(caller, c.req.valid('param').cart)
      const { userId } = caller
      const by = { userId, name: users.find(userId)?.row.name ?? '' }
      await cartNotes.change(key, toNotesPatch(patch), by)
      carts.touch(key)
      return c.json(toCartJson(visibleCarts.shown(visibleCarts.require(caller, key)), !canSeeCodes(caller)), 200)
    },
  )

  return api
}

function toNotesPatch({ out_of_service, exempt, note, kind }: CartPatch): CartNotesPatch {
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
    ...(kind === undefined ? {} : { kind }),
  }
}
