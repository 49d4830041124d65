import type { Bottle, Check, Finding } from '../bottle.ts'
import type { LiveCart } from '../model/cart.ts'
import { isAtEdge, isIn, type Spot } from '../model/ground.ts'
import { CLOSES_MINUTE, localToMs, toLocal } from '../model/local-time.ts'
import { isSettled } from './devices.ts'

const MINUTE_MS = 60_000
const OPENS_MINUTE = 6 * 60
/** Rest voltages of the site: low below, and no longer low from 2 per cent above. */
const LOW_V = 47.7
const NOT_LOW_V = LOW_V * 1.02
const FULL_V = 51
/** Time for which a truth must have held before an alert must agree with it. */
const SURE_MS = 3 * MINUTE_MS
/** Time in which a second fix confirms a departure. */
const CONFIRMED_MS = 30_000

interface Moment {
  readonly cart: LiveCart
  readonly nowMs: number
  readonly spot: Spot
  /** Minute of the local day. */
  readonly minute: number
  /** True if all it measured in the last minutes has arrived. */
  readonly isHeard: boolean
  /** Time for which it has stood still. */
  readonly stillMs: number
}

interface AlertTruth {
  readonly number: number
  readonly kind: string
  readonly claim: string
  /** True if the alert must be open, false if it must not be, null if it may be. */
  mustBeOpen(moment: Moment, bottle: Bottle): boolean | null
}

/** True if a test of the position has held for some minutes, false if its opposite has, else null. */
function held({ cart, nowMs, isHeard }: Moment, test: (spot: Spot) => boolean, forMs = SURE_MS): boolean | null {
  if (!isHeard) return null
  const spots = [0, 1, 2, 3, 4].map((i) => cart.journeys.before(nowMs - (i / 4) * forMs))
  if (spots.some(isAtEdge)) return null
  const results = spots.map(test)
  return results.every((one) => one === results[0]) ? (results[0] ?? null) : null
}

function isNight(minute: number): boolean {
  return minute >= CLOSES_MINUTE || minute < OPENS_MINUTE
}

/** True if the gateway was there at the last closing time: an older one is not handled. */
function hasClosed({ nowMs }: Moment, bottle: Bottle): boolean {
  const { date, minute } = toLocal(nowMs)
  const day = minute >= CLOSES_MINUTE ? date : toLocal(localToMs(date, 0) - MINUTE_MS).date
  const closesMs = localToMs(day, CLOSES_MINUTE)
  return closesMs > bottle.time.startMs && !bottle.wasClockWrong(closesMs - 60 * MINUTE_MS)
}

/** True well within the hours in which the course is open, or well within those in which it is closed. */
function isSureHour({ minute }: Moment): boolean {
  return [OPENS_MINUTE, CLOSES_MINUTE].every((edge) => minute < edge || minute >= edge + 5)
}

const TRUTHS: readonly AlertTruth[] = [
  {
    number: 16,
    kind: 'low_battery',
    claim: 'low_battery is open while the battery is low at rest',
    mustBeOpen({ cart, isHeard, stillMs }) {
      if (!isHeard || stillMs < 15 * MINUTE_MS) return null
      if (cart.voltageV < LOW_V - 0.05) return true
      return cart.voltageV > NOT_LOW_V + 0.05 ? false : null
    },
  },
  {
    number: 17,
    kind: 'not_charging',
    claim: 'not_charging is open before opening time for a cart in the barn that does not charge',
    mustBeOpen({ cart, nowMs, spot, minute, isHeard, stillMs }, bottle) {
      if (minute >= OPENS_MINUTE + 5 && minute < CLOSES_MINUTE) return false
      if (!isHeard || stillMs < 150 * MINUTE_MS || !isIn('parking', spot)) return null
      if (cart.voltageV >= FULL_V + 0.05) return false
      // it takes a quarter of an hour at rest, then two voltages that are an hour apart
      const reportsSinceMs = Math.max(cart.linkChangedAtMs ?? nowMs, bottle.life.startedAtMs, bottle.clockRightSinceMs)
      if (nowMs - reportsSinceMs < 100 * MINUTE_MS) return null
      if (minute < 4 * 60 + 30 || minute >= OPENS_MINUTE || cart.voltageV > FULL_V - 0.3) return null
      return !cart.isPluggedIn
    },
  },
  {
    number: 18,
    kind: 'outside',
    claim: 'outside is open while the cart is outside of the boundary',
    mustBeOpen: (moment) => held(moment, (spot) => !isIn('boundary', spot)),
  },
  {
    number: 19,
    kind: 'zone_stay',
    claim: 'zone_stay is open while the cart stays in a stop zone',
    mustBeOpen: (moment) => held(moment, (spot) => isIn('stop', spot)),
  },
  {
    number: 20,
    kind: 'moved_while_locked',
    claim: 'moved_while_locked is open after a locked cart was moved, and only then',
    mustBeOpen({ cart, nowMs, isHeard, stillMs }) {
      if (!isHeard) return null
      const since = (ms: number) => cart.lockedDrives.filter(({ atMs }) => atMs > nowMs - ms)
      const metres = since(100_000).reduce((sum, one) => sum + one.metres, 0)
      if (metres >= 60 && cart.isLocked && stillMs < MINUTE_MS) return true
      return since(20 * MINUTE_MS).length === 0 && stillMs > 10 * MINUTE_MS ? false : null
    },
  },
  {
    number: 21,
    kind: 'moved_after_hours',
    claim: 'moved_after_hours is open after a cart was moved at night, and only then',
    mustBeOpen(moment) {
      const { cart, nowMs, minute, stillMs, isHeard } = moment
      if (!isHeard || !isSureHour(moment)) return null
      const before = cart.journeys.before(nowMs - 100_000)
      const movedM = Math.hypot(moment.spot.x - before.x, moment.spot.y - before.y)
      if (isNight(minute)) {
        if (movedM > 60 && isNight(toLocal(nowMs - 2 * MINUTE_MS).minute)) return true
        return stillMs > 10 * MINUTE_MS ? false : null
      }
      return stillMs > 10 * MINUTE_MS ? false : null
    },
  },
  {
    number: 22,
    kind: 'silent_on_course',
    claim: 'silent_on_course is open while a cart on the course sends nothing',
    mustBeOpen({ cart, nowMs, spot, isHeard }, bottle) {
      if (isAtEdge(spot) || isIn('parking', spot))
        return isHeard ? held({ cart, nowMs, spot, isHeard, minute: 0, stillMs: 0 }, () => false) : null
      const heardMs = cart.last?.atMs ?? 0
      const spotAt = (beforeMs: number) => cart.fixes.findLast(({ atMs }) => atMs <= beforeMs)?.spot
      // two fixes in a row confirm that it has left
      const isKnownOut = [spotAt(heardMs), spotAt(heardMs - CONFIRMED_MS)].every(
        (one) => one !== undefined && !isIn('parking', one) && !isAtEdge(one),
      )
      if (isHeard && nowMs - heardMs < 2 * MINUTE_MS) return false
      const sinceMs = Math.max(heardMs, bottle.life.startedAtMs)
      // positions that look months old to a wrong clock are stored, and enter and leave no zone
      const isUnsure = !isKnownOut || bottle.wasClockWrong(heardMs - CONFIRMED_MS, heardMs)
      return !isUnsure && nowMs - sinceMs > 20 * MINUTE_MS ? true : null
    },
  },
  {
    number: 23,
    kind: 'open_after_closing',
    claim: 'open_after_closing is open for carts that are not locked in the barn at night',
    mustBeOpen(moment, bottle) {
      const { cart, nowMs, minute } = moment
      if (!isSureHour(moment)) return null
      if (!isNight(minute)) return false
      if (!hasClosed(moment, bottle)) return null
      const isInBarn = held(moment, (spot) => isIn('parking', spot))
      if (isInBarn === null || nowMs - cart.lockChangedAtMs < SURE_MS) return null
      return isInBarn && !cart.isLocked
    },
  },
  {
    number: 24,
    kind: 'out_after_closing',
    claim: 'out_after_closing is open for carts that are not in the barn at night',
    mustBeOpen(moment, bottle) {
      if (!isSureHour(moment)) return null
      if (!isNight(moment.minute)) return false
      if (!hasClosed(moment, bottle)) return null
      return held(moment, (spot) => !isIn('parking', spot))
    },
  },
]

interface Shown {
  readonly kind: string
  readonly isOpen: boolean
  readonly expected: boolean | null
}

interface ShownAlert {
  readonly alert_id: string
  readonly kind: string
  readonly cart: string | null
  readonly opened_at: string
  readonly closed_at: string | null
}

async function readAlerts(bottle: Bottle, query: string): Promise<ShownAlert[] | null> {
  const answer = await bottle.ask('GET', `/alerts?limit=1000&${query}`)
  return answer === null ? null : answer.body.alerts
}

function checkOf({ number, kind, claim, mustBeOpen }: AlertTruth): Check {
  return {
    number,
    claim,
    when: 'look',
    async find(bottle) {
      const [open, acknowledged] = [
        await readAlerts(bottle, `kind=${kind}&state=open`),
        await readAlerts(bottle, `kind=${kind}&state=acknowledged`),
      ]
      if (open === null || acknowledged === null) return []
      const shown = [...open, ...acknowledged]
      const found: Finding[] = []
      const { nowMs } = bottle.time
      if (nowMs - bottle.life.startedAtMs < 5 * MINUTE_MS) return []
      for (const cart of bottle.carts) {
        const isKnown = cart.isDrained && cart.zonePath.currentSinceMs < nowMs - SURE_MS
        const isHeard = isKnown && isSettled(bottle, cart, SURE_MS) && cart.isConnected && cart.isAwake
        const { spot } = cart.here()
        const { minute } = toLocal(nowMs)
        const stillMs = nowMs - cart.stillSinceMs
        const expected = mustBeOpen({ cart, nowMs, spot, minute, isHeard, stillMs }, bottle)
        const isOpen = shown.some((alert) => `cart-${alert.cart}` === cart.hardwareId)
        found.push(...openedAgain(bottle, cart, { kind, isOpen, expected }))
        const isClosed = bottle.closedByStaff.has(`${kind} of ${cart.hardwareId}`)
        if (expected !== null && expected !== isOpen && !(isClosed && expected))
          found.push({
            subject: cart.hardwareId,
            is: `${kind} ${isOpen ? 'open' : 'not open'}`,
            expected: expected ? 'open' : 'not open',
          })
      }
      return found
    },
  }
}

/** Kinds whose cause lasts for as long as a cart stands there, with the same lock. */
const STANDING_KINDS = ['low_battery', 'outside', 'zone_stay', 'open_after_closing', 'out_after_closing']

/** Compares an alert that staff closed: it opens again only after its cause has ended once. */
function openedAgain(bottle: Bottle, cart: LiveCart, shown: Shown): Finding[] {
  const { closedByStaff, restores, time } = bottle
  const { kind, isOpen, expected } = shown
  const key = `${kind} of ${cart.hardwareId}`
  const closed = closedByStaff.get(key)
  if (closed === undefined) return []
  const { atMs, isSure } = closed
  const isSilence = kind === 'silent_on_course'
  const endedMs = isSilence ? (cart.last?.atMs ?? 0) : Math.max(cart.stillSinceMs, cart.lockChangedAtMs)
  const isLasting = isSilence || STANDING_KINDS.includes(kind)
  const changedMs = Math.max(endedMs, ...restores.map(({ toMs }) => toMs))
  const mayHaveEnded = !isLasting || changedMs > atMs || bottle.wasClockWrong(atMs)
  if (expected === false || (isOpen && mayHaveEnded)) closedByStaff.delete(key)
  if (!isOpen || !isSure || mayHaveEnded || expected !== true || time.nowMs === atMs) return []
  return [{ subject: cart.hardwareId, is: `${kind} open again`, expected: 'closed by staff while its cause lasts' }]
}

/** Kinds whose cause cannot end and return within half a minute. */
const SLOW_KINDS = ['low_battery', 'not_charging', 'open_after_closing', 'out_after_closing', 'silent_on_course']
const AGAIN_MS = 30_000

const once: Check = {
  number: 31,
  claim: 'an alert is opened once for one cause',
  when: 'night',
  async find(bottle) {
    const fromMs = localToMs(toLocal(bottle.time.nowMs - 86_400_000).date, 0)
    if (bottle.wasClockWrong(fromMs)) return []
    const shown = await readAlerts(bottle, `from=${new Date(fromMs).toISOString()}`)
    if (shown === null) return []
    const found: Finding[] = []
    const byCause = Map.groupBy(
      shown.filter(({ kind }) => SLOW_KINDS.includes(kind)),
      ({ kind, cart }) => `${kind} of ${cart}`,
    )
    for (const [cause, alerts] of byCause) {
      const inOrder = alerts.toSorted((one, other) => one.opened_at.localeCompare(other.opened_at))
      for (const [i, alert] of inOrder.entries()) {
        const before = inOrder[i - 1]
        if (before === undefined) continue
        const gapMs = before.closed_at === null ? 0 : Date.parse(alert.opened_at) - Date.parse(before.closed_at)
        if (gapMs < AGAIN_MS)
          found.push({ subject: `cart-${alert.cart}`, is: `${cause} opened again after ${gapMs} ms`, expected: 'once' })
      }
    }
    return found
  },
}

export const alertChecks: readonly Check[] = [...TRUTHS.map(checkOf), once]
