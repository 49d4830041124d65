import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { canSee } from '#domain/access.ts'
import type { Cart } from '#services/cart.ts'
import { inOrder, paginationOf } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { RememberedQueries } from '#shared/http/remembered-queries.ts'
import { answers, jsonText } from '#shared/http/responses.ts'
import { requireTripRange } from '#shared/http/trip-answers.ts'
import type { CartRound, HoleStay } from '#shared/rounds/round.ts'
import {
  activeRoundQuerySchema,
  activeRoundsSchema,
  roundListSchema,
  roundQuerySchema,
  toHolesJson,
  toPaceJson,
  toRoundJson,
} from '#shared/wire/rounds.ts'
import { type ApiEnv, createApi, readerOwnerOf } from '../api-env.ts'
import { addMissingWarning } from '../damaged-range-warning.ts'
import type { CourseDeps, MachineDeps, RecordsDeps } from '../deps.ts'

/** Active rounds as JSON for continuous requests of tablets: data that stays until the next hole is serialised once. */
class RoundTexts {
  /** Texts keyed by the array of holes, which is replaced when a hole changes. */
  readonly #texts = new WeakMap<readonly HoleStay[], { cart: string; partyId: string | null; text: string }>()
  readonly #partyIdOf: (round: CartRound) => string | null

  constructor(partyIdOf: (round: CartRound) => string | null) {
    this.#partyIdOf = partyIdOf
  }

  of(rounds: readonly CartRound[], minutesPerHole: number, nowMs: number): string {
    const texts = rounds.map((one) => {
      const pace = JSON.stringify(toPaceJson(one, minutesPerHole, nowMs))
      return `${this.#holesText(one)},${pace.slice(1)}`
    })
    return `{"rounds":[${texts.join(',')}]}`
  }

  /** Omits the closing brace: the changing members follow. */
  #holesText(one: CartRound): string {
    const { holes } = one.round
    const partyId = this.#partyIdOf(one)
    const known = this.#texts.get(holes)
    if (known?.cart === one.cart && known.partyId === partyId) return known.text
    const text = JSON.stringify(toHolesJson(one, partyId)).slice(0, -1)
    this.#texts.set(holes, { cart: one.cart, partyId, text })
    return text
  }
}

/** `/rounds`: rounds of carts, hole by hole, and the pace of those in play. */
export function createRoundsApi({
  rounds,
  carts,
  site,
  clock,
  store,
  parties,
}: CourseDeps & RecordsDeps & MachineDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()
  const queries = new RememberedQueries(activeRoundQuerySchema)
  const texts = new RoundTexts(({ cart, round }) => parties.partyAt(cart, round.startedMs)?.party_id ?? null)

  /** Returns the carts that the caller sees: those it sees whole, and those of which it sees some devices only. */
  function cartsFor(c: Context<ApiEnv>): { whole: Cart[]; parts: Cart[] } {
    const { caller } = c.get('user')
    const whole: Cart[] = []
    const parts: Cart[] = []
    for (const cart of carts.all) {
      const seen = cart.devices.filter(({ row }) => canSee(caller, row.hardwareId))
      if (seen.length === cart.devices.length) whole.push(cart)
      else if (seen.length > 0) parts.push({ ...cart, devices: seen })
    }
    return { whole, parts }
  }

  const activeRoute = listRoute('/rounds/active', 'List active rounds', {
    operationId: 'listActiveRounds',
    description:
      'A round lasts from the time a cart leaves parking until it is back, once it was on a hole. Carts in scope; ' +
      'for a cart that is partly in scope, by the devices in scope.',
    request: { query: activeRoundQuerySchema },
    responses: answers(activeRoundsSchema, 'Active rounds.', 400),
  })
  // tablets request this continuously: documented like the other routes, but the response is joined from cached texts
  api.openAPIRegistry.registerPath(activeRoute)
  api.get(activeRoute.getRoutingPath(), activeRoute.asTable, async (c) => {
    const { order } = queries.of(c)
    const { whole, parts } = cartsFor(c)
    const keys = whole.map(({ key }) => key)
    const running = await rounds.running(keys, parts, { ...readerOwnerOf(c), isShort: true })
    return jsonText(c, texts.of(inOrder(running, order), site.settings.minutesPerHole, clock.nowMs()))
  })

  api.openapi(
    listRoute('/rounds', 'List rounds', {
      operationId: 'listRounds',
      description:
        'The gateway finds them in the GPS history of the devices that a cart has now, by the parking and hole ' +
        'zones as they are now. Carts in scope.',
      request: { query: roundQuerySchema },
      responses: answers(roundListSchema, 'Rounds that began in the range.', 400),
    }),
    async (c) => {
      const { from, to, cart, ...page } = c.req.valid('query')
      const range = requireTripRange(from, to)
      const { whole, parts } = cartsFor(c)
      const asked = [...whole, ...parts].filter(({ key }) => cart === undefined || key === cart)
      const found = await rounds.find(asked, { ...range, ...page, asker: readerOwnerOf(c) })
      const devices = asked.flatMap((one) => one.devices)
      const missing = addMissingWarning(c, store, devices, { stream: 'gps', ...range })
      const partyAt = await parties.partiesIn(range, readerOwnerOf(c))
      const pace = { minutesPerHole: site.settings.minutesPerHole, nowMs: clock.nowMs() }
      const shown = found.map((one) => {
        const partyId = partyAt(one.cart, one.round.startedMs)?.party_id ?? null
        return toRoundJson(one, { ...pace, partyId })
      })
      return c.json({ rounds: shown, pagination: paginationOf(page, shown), ...missing }, 200)
    },
  )

  return api
}
