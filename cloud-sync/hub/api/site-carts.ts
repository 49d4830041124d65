import { canSeeCodes } from '#hub/access.ts'
import { siteCarts } from '#hub/sites/carts.ts'
import { textSearch } from '#shared/device-filter.ts'
import { NotFoundError } from '#shared/errors.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { countCarts, toCartJson } from '#shared/wire/cart-json.ts'
import { cartListQuerySchema, cartListSchema, cartParams, cartSchema } from '#shared/wire/carts.ts'
import { siteList, siteNoun } from './site-noun.ts'

/** Carts of a site, evaluated by the rules of its gateway. */
export const SITE_CARTS = siteList({
  path: '/sites/{site}/carts',
  summary: 'List the carts of a site',
  description:
    'The same response as GET /carts of the gateway, evaluated from its last report. Carts of a disconnected ' +
    'gateway become silent.',
  query: cartListQuerySchema,
  schema: cartListSchema,
  answer: 'All carts of the site, in natural order.',
  read: async ({ order, kind, search = '' }, { sql, site, user, nowMs }) => {
    const carts = await siteCarts(sql, site, nowMs)
    const isFound = textSearch(search)
    const listed = carts.filter(({ key, notes }) => (kind === undefined || notes.kind === kind) && isFound(key))
    const masksCodes = !canSeeCodes(user)
    return {
      carts: inOrder(listed, order).map((cart) => toCartJson(cart, masksCodes, true)),
      ...countCarts(carts),
      has_parking_zone: carts.some(({ zoneContext }) => zoneContext.hasParking),
    }
  },
})

export const SITE_CART = siteNoun({
  path: '/sites/{site}/carts/{cart}',
  summary: 'Get a cart of a site',
  params: cartParams,
  schema: cartSchema,
  answer: 'Cart as last reported by its gateway.',
  read: async ({ sql, site, user, nowMs, cart: id }) => {
    const carts = await siteCarts(sql, site, nowMs)
    const found =
      carts.find(({ key }) => key === id) ??
      carts.find(({ devices }) => devices.some(({ hardwareId }) => hardwareId === id))
    if (found === undefined) throw new NotFoundError('cart_not_found', `there is no cart ${id} at this site`)
    return toCartJson(found, !canSeeCodes(user), true)
  },
})
