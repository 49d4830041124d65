import { type Bottle, type Check, EVENT_DAYS, type Finding, SAMPLE_DAYS } from '../bottle.ts'
import type { LiveCart } from '../model/cart.ts'
import { isAtEdge, isIn, type Spot } from '../model/ground.ts'

const SETTLED_MS = 90_000
/** A broker notices a line that is cut after one and a half keepalives. */
const CUT_MS = 240_000
const TWO_FIXES_MS = 62_000
const MAX_PAGE = 1_000

export function isSettled(bottle: Bottle, cart: LiveCart, forMs: number): boolean {
  const sinceMs = bottle.time.nowMs - forMs
  const disturbedAtMs = bottle.disturbedAtMs.get(cart) ?? Number.NEGATIVE_INFINITY
  return (
    bottle.life.isRunning &&
    bottle.life.startedAtMs <= sinceMs &&
    (cart.linkChangedAtMs ?? 0) <= sinceMs &&
    disturbedAtMs <= bottle.time.nowMs - CUT_MS
  )
}

const isOnline: Check = {
  number: 1,
  claim: 'is_online is true of the devices that are connected and awake',
  when: 'look',
  async find(bottle) {
    const answer = await bottle.ask('GET', `/devices?limit=${MAX_PAGE}`)
    if (answer === null) return []
    const found: Finding[] = []
    for (const cart of bottle.carts) {
      if (!isSettled(bottle, cart, SETTLED_MS)) continue
      const shown = answer.body.devices.find((one: { hardware_id: string }) => one.hardware_id === cart.hardwareId)
      const expected = cart.isConnected && cart.isAwake
      if (shown?.is_online !== expected)
        found.push({ subject: cart.hardwareId, is: `is_online ${shown?.is_online}`, expected: `is_online ${expected}` })
    }
    return found
  },
}

const state: Check = {
  number: 2,
  claim: 'the state of a cart is where it is',
  when: 'look',
  async find(bottle) {
    const answer = await bottle.ask('GET', '/carts')
    if (answer === null) return []
    const found: Finding[] = []
    for (const cart of bottle.carts) {
      if (!isSettled(bottle, cart, SETTLED_MS) || !cart.isConnected || !cart.isAwake || !cart.isDrained) continue
      // two positions must have been sent from where it is
      const now = bottle.time.nowMs
      const { spot } = cart.here()
      const before = cart.journeys.before(now - TWO_FIXES_MS)
      if (cart.last === null || !cart.zonePath.isCurrent || isAtEdge(spot) || stateAt(spot) !== stateAt(before))
        continue
      const shown = answer.body.carts.find((one: { cart: string }) => `cart-${one.cart}` === cart.hardwareId)
      const expected = stateAt(spot)
      if (shown?.state !== expected)
        found.push({ subject: cart.hardwareId, is: `state ${shown?.state}`, expected: `state ${expected}` })
    }
    return found
  },
}

function stateAt(spot: Spot): string {
  if (isIn('parking', spot)) return 'in'
  return isIn('boundary', spot) ? 'out' : 'outside'
}

const newest: Check = {
  number: 4,
  claim: 'position and voltage shown are the newest that arrived',
  when: 'look',
  async find(bottle) {
    const answer = await bottle.ask('GET', `/devices?limit=${MAX_PAGE}`)
    if (answer === null) return []
    const found: Finding[] = []
    for (const cart of bottle.carts) {
      if (cart.last === null) continue
      const shown = answer.body.devices.find((one: { hardware_id: string }) => one.hardware_id === cart.hardwareId)
      const { lat, long, battery_voltage: voltageV } = shown?.attributes ?? {}
      const { spot, voltageV: sentV } = cart.last
      // the last may have arrived without its acknowledgement
      if (!cart.isDrained) continue
      if (lat !== spot.y || long !== spot.x || voltageV !== sentV)
        found.push({
          subject: cart.hardwareId,
          is: `${lat}, ${long}, ${voltageV} V`,
          expected: `${spot.y}, ${spot.x}, ${sentV} V`,
        })
    }
    return found
  },
}

const history: Check = {
  number: 5,
  claim: 'each acknowledged sample is in the history once, and none that was not sent',
  when: 'night',
  async find(bottle) {
    const found: Finding[] = []
    for (const cart of bottle.carts) {
      // older ones may be gone
      for (const atMs of cart.samples.keys())
        if (atMs < bottle.time.nowMs - SAMPLE_DAYS * 86_400_000) cart.samples.delete(atMs)
      const times = [...cart.samples.keys()]
      const [firstMs, lastMs] = [times[0], times.at(-1)]
      if (firstMs === undefined || lastMs === undefined) continue
      const range = `from=${new Date(firstMs).toISOString()}&to=${new Date(lastMs).toISOString()}`
      const answer = await bottle.ask('GET', `/devices/${cart.hardwareId}/gps?format=ndjson&${range}`)
      if (answer === null) return found
      found.push(...compare(cart, answer.body))
      for (const [atMs, isAcknowledged] of cart.samples) if (isAcknowledged) cart.samples.delete(atMs)
    }
    return found
  },
}

function compare(cart: LiveCart, body: string): Finding[] {
  const stored = new Map<number, number>()
  for (const line of body.split('\n')) {
    if (line === '') continue
    const atMs = Date.parse(JSON.parse(line).timestamp)
    stored.set(atMs, (stored.get(atMs) ?? 0) + 1)
  }
  const subject = cart.hardwareId
  const found: Finding[] = []
  for (const [atMs, isAcknowledged] of cart.samples) {
    const count = stored.get(atMs) ?? 0
    if (count > 1 || (isAcknowledged && count === 0))
      found.push({ subject, is: `${count} records of ${new Date(atMs).toISOString()}`, expected: '1' })
  }
  for (const atMs of stored.keys())
    if (!cart.samples.has(atMs))
      found.push({ subject, is: `a record of ${new Date(atMs).toISOString()}`, expected: 'none: it was not sent' })
  return found.slice(0, 5)
}

const lockEvents: Check = {
  number: 7,
  claim: 'each lock event is stored once, in the order of the device',
  when: 'night',
  async find(bottle) {
    const found: Finding[] = []
    for (const cart of bottle.carts) {
      const keptMs = bottle.time.nowMs - EVENT_DAYS * 86_400_000
      const own = cart.lockEvents.slice(-100).filter(({ atMs }) => atMs > keptMs)
      const [first] = own
      if (first === undefined || !cart.isDrained) continue
      const answer = await bottle.ask('GET', `/lock-events?hardware_id=${cart.hardwareId}&limit=${MAX_PAGE}`)
      if (answer === null) return found
      const shown: { event: string; timestamp: string }[] = answer.body.events
      const describe = (list: readonly { event: string; atMs: number }[]) =>
        list.map(({ event, atMs }) => `${event} ${atMs}`).join(', ')
      const listed = shown
        .map(({ event, timestamp }) => ({ event, atMs: Date.parse(timestamp) }))
        .filter(({ atMs }) => atMs >= first.atMs)
        .toReversed()
      if (describe(listed) !== describe(own))
        found.push({ subject: cart.hardwareId, is: describe(listed), expected: describe(own) })
    }
    return found
  },
}

export const deviceChecks: readonly Check[] = [isOnline, state, newest, history, lockEvents]
