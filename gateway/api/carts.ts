import type { OpenAPIHono } from '@hono/zod-openapi'
import { type Caller, canSeeCodes, isStaff } from '#domain/access.ts'
import type { Cart } from '#services/cart.ts'
import type { CartNotesPatch } from '#services/carts/cart-notes-store.ts'
import type { VisibleCarts } from '#services/carts/visible-carts.ts'
import { textSearch } from '#shared/device-filter.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { RememberedQueries } from '#shared/http/remembered-queries.ts'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body, jsonText } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { isoOrNull } from '#shared/time.ts'
import { countCarts, type ShownCart, toCartJson } from '#shared/wire/cart-json.ts'
import {
  type CartJson,
  type CartPatch,
  cartListQuerySchema,
  cartListSchema,
  cartParams,
  cartPatchSchema,
  cartSchema,
} from '#shared/wire/carts.ts'
import type { CartParty } from '#shared/wire/parties/party-json.ts'
import { meterSchema } from '#shared/wire/service/service.ts'
import { type ApiEnv, createApi, requireAdmin, staffOnly } from './api-env.ts'
import type { CourseDeps, PeopleDeps } from './deps.ts'

interface Remembered {
  autoLockAtMs: number | null
  party: CartParty | null
  alerts: string
  text: string
}

/** Lists of carts as JSON; the text of a cart is serialised again only after the cart has changed. */
class CartListTexts {
  readonly #carts: VisibleCarts
  /** Texts by the rights of callers. */
  readonly #byView = new Map<string, WeakMap<Cart, Remembered>>()

  constructor(carts: VisibleCarts) {
    this.#carts = carts
  }

  /** `counted` are all carts in scope, of which `carts` are listed. */
  of(carts: readonly Cart[], counted: readonly Cart[], caller: Caller): string {
    const texts = carts.map((cart) => this.#textOf(cart, caller))
    const hasParkingZone = counted.some(({ zoneContext }) => zoneContext.hasParking)
    const counts = JSON.stringify({ ...countCarts(counted), has_parking_zone: hasParkingZone })
    return `{"carts":[${texts.join(',')}],${counts.slice(1)}`
  }

  #textOf(cart: Cart, caller: Caller): string {
    const view = `${canSeeCodes(caller)} ${isStaff(caller)}`
    const remembered = this.#byView.get(view) ?? new WeakMap<Cart, Remembered>()
    this.#byView.set(view, remembered)
    const { autoLockAtMs, party, openAlertIds } = this.#carts.extrasOf(cart)
    const alerts = openAlertIds.join(' ')
    const known = remembered.get(cart)
    if (known?.autoLockAtMs === autoLockAtMs && known.party === party && known.alerts === alerts) return known.text
    const text = JSON.stringify(shownTo(caller, this.#carts.shown(cart)))
    remembered.set(cart, { autoLockAtMs, party, alerts, text })
    return text
  }
}

/** `/carts`: carts, assembled from the devices in them. */
export function createCartsApi({
  carts,
  visibleCarts,
  cartNotes,
  parties,
  serviceBook,
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
    const { order, kind, search = '' } = queries.of(c)
    const isFound = textSearch(search)
    const seen = visibleCarts.all(caller)
    const textsOf = ({ key }: Cart) => {
      const party = isStaff(caller) ? parties.ofCart(key) : null
      return party === null ? [key] : [key, party.handedOut.driver ?? '', ...party.party.players]
    }
    const listed = seen.filter(
      (cart) => (kind === undefined || cart.notes.kind === kind) && textsOf(cart).some(isFound),
    )
    return jsonText(c, texts.of(inOrder(listed, order), seen, caller))
  })

  api.openapi(
    route.get('/carts/{cart}', 'Get a cart', {
      request: { params: cartParams },
      responses: answers(cartSchema, 'The cart.', 403, 404),
    }),
    (c) => {
      const { caller } = c.var.user
      const cart = visibleCarts.require(caller, c.req.valid('param').cart)
      return c.json(shownTo(caller, visibleCarts.shown(cart)), 200)
    },
  )

  api.openapi(
    route.patch('/carts/{cart}', 'Change the notes on a cart', {
      description:
        'A cart that is out of service opens no alerts and is exempt from nothing. An exempt cart may be in ' +
        'zones of these types; its devices receive them as zone_exempt in their configuration. A cart that is put in ' +
        'service again gets an entry in the service book. For staff; kind and meter are for admins.',
      middleware: [staffOnly, jsonBody],
      request: { params: cartParams, body: body(cartPatchSchema) },
      responses: answers(cartSchema, 'The cart as it is now.', 400, 403, 404, 413, 415),
    }),
    async (c) => {
      const { caller } = c.var.user
      const patch = c.req.valid('json')
      const { meter } = patch
      if (patch.kind !== undefined || meter !== undefined) requireAdmin(c.var.user)
      const cart = visibleCarts.require(caller, c.req.valid('param').cart)
      const { key } = cart
      const { userId } = caller
      const name = users.find(userId)?.row.name ?? ''
      const notes = {
        ...toNotesPatch(patch),
        ...(meter === undefined ? {} : { meter: meter && (await serviceBook.meterSetting(cart, meter)) }),
      }
      await cartNotes.change(key, notes, { userId, name }, (ended) =>
        serviceBook.endOfService(cart, ended, { user_id: userId, name }),
      )
      carts.touch(key)
      if (meter !== undefined || patch.kind !== undefined || patch.out_of_service !== undefined) serviceBook.changed()
      return c.json(shownTo(caller, visibleCarts.shown(visibleCarts.require(caller, key))), 200)
    },
  )

  api.openapi(
    route.get('/carts/{cart}/meter', 'Get the meter of a cart', {
      description: 'Its use on all days, of which the day so far is at most 15 minutes old. For staff and admins.',
      middleware: [staffOnly],
      request: { params: cartParams },
      responses: answers(meterSchema, 'The meter.', 403, 404),
    }),
    async (c) => {
      const cart = visibleCarts.require(c.var.user.caller, c.req.valid('param').cart)
      const { hours, km, rounds, sinceMs } = await serviceBook.meterOf(cart)
      return c.json({ cart: cart.key, hours, km, rounds, since: isoOrNull(sinceMs) }, 200)
    },
  )

  return api
}

function shownTo(caller: Caller, cart: ShownCart): CartJson {
  return toCartJson(cart, !canSeeCodes(caller), isStaff(caller))
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
