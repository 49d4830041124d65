import type { Bottle, Check, Finding } from '../bottle.ts'
import type { LiveCart } from '../model/cart.ts'
import { toLocal } from '../model/local-time.ts'
import { isSettled } from './devices.ts'

const MINUTE_MS = 60_000
/** Time after which a drive or the end of a round must be known. */
const KNOWN_MS = 5 * MINUTE_MS
/** Stop that ends a trip. */
const STOP_MS = 3 * MINUTE_MS
const HOUR_MS = 60 * MINUTE_MS
/** Silence after which a round has ended. */
const SILENT_MS = 4 * HOUR_MS + KNOWN_MS
/** Longest time between the day on which a round begins and its end. */
const LOOKBACK_MS = 14 * HOUR_MS

interface ShownRound {
  readonly cart: string
  readonly holes: readonly { readonly hole: number }[]
}

const underWay: Check = {
  number: 56,
  claim: 'the trips and rounds under way are those of the carts',
  when: 'look',
  async find(bottle) {
    const { time, life } = bottle
    if (bottle.wasClockWrong(time.nowMs - HOUR_MS) || time.nowMs - life.startedAtMs < KNOWN_MS) return []
    const trips = await bottle.ask('GET', '/trips/active?maxAgeSeconds=3600')
    const rounds = await bottle.ask('GET', '/rounds/active')
    if (trips === null || rounds === null) return []
    const onTrip = new Set<string>(trips.body.activeTrips.map((one: { hardware_id: string }) => one.hardware_id))
    const shown: ShownRound[] = rounds.body.rounds
    return bottle.carts.flatMap((cart) => [
      ...tripOf(bottle, cart, onTrip.has(cart.hardwareId)),
      ...roundOf(
        bottle,
        cart,
        shown.find((one) => `cart-${one.cart}` === cart.hardwareId),
      ),
    ])
  },
}

function isHeard(bottle: Bottle, cart: LiveCart): boolean {
  return isSettled(bottle, cart, KNOWN_MS) && cart.isConnected && cart.isAwake && cart.isDrained
}

function tripOf(bottle: Bottle, cart: LiveCart, isOnTrip: boolean): Finding[] {
  const { nowMs } = bottle.time
  const { hardwareId: subject, stillSinceMs, last } = cart
  // a position of the stop is enough: its time continues by the clock
  const stands = nowMs - stillSinceMs > STOP_MS + MINUTE_MS && last !== null && last.atMs >= stillSinceMs
  const drives = [0, 1, 2].every((minutes) => cart.journeys.at(nowMs - minutes * MINUTE_MS).speedMps > 0)
  if (stands && isOnTrip) return [{ subject, is: 'on a trip', expected: 'none: it stands' }]
  if (drives && !isOnTrip && isHeard(bottle, cart)) return [{ subject, is: 'on no trip', expected: 'one: it drives' }]
  return []
}

function roundOf(bottle: Bottle, cart: LiveCart, shown: ShownRound | undefined): Finding[] {
  const { nowMs } = bottle.time
  const silentMs = nowMs - (cart.last?.heardMs ?? nowMs)
  if (shown !== undefined && silentMs > SILENT_MS)
    return [{ subject: cart.hardwareId, is: 'on a round', expected: 'none: it has sent nothing for four hours' }]
  if (!isHeard(bottle, cart)) return []
  const dates = new Set([nowMs, nowMs - LOOKBACK_MS].map((atMs) => toLocal(atMs).date))
  const outings = [...dates].flatMap((date) => cart.diary.day(date).outings)
  const outing = outings.find(({ leavesMs, returnsMs }) => leavesMs < nowMs && nowMs < returnsMs + KNOWN_MS)
  if (bottle.wasClockWrong(outing?.leavesMs ?? nowMs)) return []
  const expected = outing?.holes.join() ?? ''
  const is = shown?.holes.map(({ hole }) => hole).join() ?? ''
  return `${expected},`.startsWith(is === '' ? '' : `${is},`)
    ? []
    : [{ subject: cart.hardwareId, is: `round of holes ${is}`, expected: `${expected}, or its beginning` }]
}

export const underWayChecks: readonly Check[] = [underWay]
