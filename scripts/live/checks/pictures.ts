import type { LiveCart } from '../model/cart.ts'
import { canonical, type Frame } from '../model/picture.ts'
import { sees } from '../model/rights.ts'
import type { Desk, Desks } from './desks.ts'

const MINUTE_MS = 60_000
/** Time after which a tablet must have connected again: pings that are lost, and its own pauses. */
const BACK_MS = 3 * MINUTE_MS
/** Fields of a cart that frames keep up to date: its position comes with its device, others are of the moment. */
const OF_CART = 'cart devices state is_low is_asleep zones lock out_of_service exempt note open_alerts'.split(' ')

/** State at the last comparison. */
interface Before {
  readonly atMs: number
  /** Ids of the lock events that the API showed. */
  readonly events: ReadonlySet<string>
  /** Acknowledged samples of the carts that had sent all. */
  readonly acknowledged: ReadonlyMap<LiveCart, number>
  readonly wrongClocks: number
  /** Ids of the commands whose time of creation may be that of a wrong clock. */
  readonly untimed: Set<string>
}

const earlier = new WeakMap<Desks, Before>()

/** Compares the pictures of all tablets with the responses of the API. */
export async function comparePictures(people: Desks): Promise<void> {
  const { bottle, desks } = people
  if (!bottle.life.isRunning) return
  const listed = await bottle.ask('GET', '/lock-events?limit=200')
  const commands = await bottle.ask('GET', '/commands?limit=100')
  if (listed === null || commands === null) return
  const before = earlier.get(people)
  const drained = bottle.carts.filter(({ isDrained, isConnected }) => isDrained && isConnected)
  const now: Before = {
    atMs: bottle.time.nowMs,
    events: new Set(listed.body.events.map(({ event_id: id }: Frame) => id)),
    acknowledged: new Map(drained.map((cart) => [cart, cart.acknowledged])),
    wrongClocks: bottle.wrongClocks.length,
    untimed: before?.untimed ?? new Set(),
  }
  // made by a wrong clock, or at the same time
  if (before !== undefined && before.wrongClocks !== now.wrongClocks)
    for (const { command_id: id } of commands.body.commands) now.untimed.add(id)
  earlier.set(people, now)
  const timed = commands.body.commands.filter(({ command_id: id }: Frame) => !now.untimed.has(id))
  // a clock that is set back makes later frames earlier
  const isInOrder = !bottle.wasClockWrong(before?.atMs ?? now.atMs)
  for (const desk of desks)
    for (const fault of desk.tablet.picture.faults.splice(0)) if (isInOrder) people.found(33, desk, fault, 'later ones')
  for (const desk of desks) {
    // a kill may come between two comparisons
    if (!bottle.life.isRunning) return
    const { tablet, rights } = desk
    const { picture } = tablet
    const { nowMs } = bottle.time
    const calmMs = Math.max(tablet.disturbedAtMs, bottle.life.startedAtMs, tablet.switchedOnAtMs)
    if (tablet.knownSinceMs === null) {
      if (rights.hasSession && nowMs - calmMs > BACK_MS) people.found(33, desk, 'not connected', 'connected')
      continue
    }
    const isSure = tablet.disturbedAtMs <= nowMs && !rights.isUnsure && rights.possibleAt(nowMs).length === 1
    const isSame = isSure && (await compare(people, desk, timed))
    const isCounted = before !== undefined && picture.countedFromMs === before.atMs
    if (isSame && isCounted && (tablet.knownSinceMs ?? nowMs) <= before.atMs)
      compareCounts(people, desk, before, now, listed.body.events)
    // frames on the way belong to the time before
    picture.countAgain(isSame && bottle.time.nowMs === now.atMs ? now.atMs : null)
  }
}

/** Compares the numbers of frames since the last comparison with those of what happened. */
function compareCounts(people: Desks, desk: Desk, before: Before, now: Before, events: readonly Frame[]): void {
  const { picture } = desk.tablet
  const [rights] = desk.rights.possibleAt(now.atMs)
  const isSeen = (id: string) => rights !== undefined && picture.watches(id) && sees(rights, id)
  const differ = (what: string, count: number, expected: number) => {
    if (count !== expected) people.found(33, desk, `${count} times ${what}`, `${expected}`)
  }
  for (const { event_id: id, hardware_id: hardwareId } of events)
    if (!before.events.has(id) && isSeen(hardwareId)) differ(`the lock event ${id}`, picture.lockEvents.get(id) ?? 0, 1)
  for (const [cart, count] of now.acknowledged) {
    const countBefore = before.acknowledged.get(cart)
    const { hardwareId } = cart
    if (countBefore !== undefined && isSeen(hardwareId))
      differ(`readings of ${hardwareId}`, picture.dataCounts.get(hardwareId) ?? 0, count - countBefore)
  }
}

/** Compares one picture; returns true if it could be compared. */
async function compare(people: Desks, desk: Desk, commands: readonly Frame[]): Promise<boolean> {
  const { tablet, rights } = desk
  const { picture } = tablet
  const { time } = people.bottle
  const atMs = time.nowMs
  const shown = []
  for (const path of ['/devices?limit=1000', '/carts', '/alerts?state=open&limit=1000', '/alerts?state=acknowledged']) {
    const answer = await people.ask(desk, 'GET', path)
    if (answer?.status !== 200) return false
    shown.push(answer.body)
  }
  const zones = await people.ask(desk, 'GET', '/zones')
  const recall = picture.recallId === undefined ? null : await people.ask(desk, 'GET', '/recall')
  let isOver = false
  let isAnswered = false
  void tablet.ping().then((answered) => {
    isAnswered = answered
    isOver = true
  })
  await time.runUntil(time.nowMs + MINUTE_MS, () => isOver)
  // time has passed while the gateway was slow: the next comparison counts
  if (!isOver && tablet.disturbedAtMs <= atMs) people.found(33, desk, 'no answer to a ping', 'an answer')
  if (!isAnswered || time.nowMs !== atMs || tablet.knownSinceMs === null) return false
  const [devices, carts, ...alerts] = shown
  const watched = (one: Frame) => picture.watches(one.hardware_id)
  const differ = (what: string, is: Iterable<Frame>, expected: readonly Frame[], idOf: (one: Frame) => string) => {
    const known = new Map([...is].map((one) => [idOf(one), canonical(one)]))
    for (const one of expected) {
      const own = known.get(idOf(one))
      if (own !== canonical(one)) people.found(33, desk, `${what} ${own}`, canonical(one))
      known.delete(idOf(one))
    }
    for (const one of known.values()) people.found(33, desk, `${what} ${one}`, 'none')
  }
  const devicesOf = (list: Iterable<Frame>) => [...list].filter(watched).map(settled)
  differ('device', devicesOf(picture.devices.values()), devicesOf(devices.devices), (one) => one.hardware_id)
  const cartsOf = (list: Iterable<Frame>) => [...list].filter((one) => one.devices.some(watched)).map(promised)
  differ('cart', cartsOf(picture.carts.values()), cartsOf(carts.carts), (one) => one.cart)
  const open = alerts.flatMap((one) => one.alerts)
  differ('alert', picture.alerts.values(), open, (one) => one.alert_id)
  if (picture.zonesVersion !== null && zones?.body.version !== picture.zonesVersion)
    people.found(33, desk, `zones ${picture.zonesVersion}`, `zones ${zones?.body.version}`)
  if (recall?.status === 200 && (recall.body.active?.recall_id ?? null) !== picture.recallId)
    people.found(33, desk, `recall ${picture.recallId}`, `recall ${recall.body.active?.recall_id}`)
  const { knownSinceMs } = tablet
  for (const one of commands) {
    const isOfLock = one.command === 'lock' || one.command === 'unlock'
    if (!isOfLock || Date.parse(one.created_at) <= knownSinceMs || tablet.disturbedAtMs > knownSinceMs) continue
    if (!rights.possibleAt(atMs).every((right) => sees(right, one.hardware_id))) continue
    const status = picture.lockCommands.get(one.command_id) ?? 'pending'
    if (status !== one.status) people.found(33, desk, `${one.command} ${one.command_id} ${status}`, one.status)
  }
  return true
}

/** A device without what other messages than telemetry change too: its lock is that of the cart. */
function settled({
  attributes: { lock_status: _, ...attributes },
  updated_at: _1,
  last_responded_at: _2,
  ...device
}: Frame) {
  return { ...device, attributes }
}

function promised(cart: Frame): Frame {
  return Object.fromEntries(OF_CART.map((name) => [name, cart[name]]))
}
