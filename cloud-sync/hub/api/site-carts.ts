import { canSeeCodes } from '#hub/access.ts'
import { siteCarts } from '#hub/sites/carts.ts'
import { NotFoundError } from '#shared/errors.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { countCarts, toCartJson } from '#shared/wire/cart-json.ts'
import { cartListQuerySchema, cartListSchema, cartParams, cartSchema } from '#shared/wire/carts.ts'
import { siteList, siteNoun } from './site-noun.ts'

/** The carts of a site, judged as its gateway judges them. */
export const SITE_CARTS = siteList({
  path: '/sites/{site}/carts',
  summary: 'List the carts of a site',
  description:
    'The same answer as GET /carts of the gateway, judged by what it told last. Carts of a gateway that is not ' +
    'heard of become silent.',
  query: cartListQuerySchema,
  schema: cartListSchema,
  answer: 'All carts of the site, in natural order.',
  read: async ({ order }, { sql, site, user, nowMs }) => {
    const carts = await siteCarts(sql, site, nowMs)
    const masksCodes = !canSeeCodes(user)
    return {
      carts: inOrder(carts, order).map((cart) => toCartJson(cart, masksCodes)),
      counts: countCarts(carts),
      has_parking_zone: carts.some(({ ground }) => ground.hasParking),
    }
  },
})

export const SITE_CART = siteNoun({
  path: '/sites/{site}/carts/{cart}',
  summary: 'Get a cart of a site',
  params: cartParams,
  schema: cartSchema,
  answer: 'The cart as its gateway told last.',
  read: async ({ sql, site, user, nowMs, cart: id }) => {
    const carts = await siteCarts(sql, site, nowMs)
    const found =
      carts.find(({ key }) => key === id) ??
      carts.find(({ devices }) => devices.some(({ hardwareId }) => hardwareId === id))
    if (found === undefined) throw new NotFoundError('cart_not_found', `there is no cart ${id} at this site`)
    return toCartJson(found, !canSeeCodes(user))
  },
})
