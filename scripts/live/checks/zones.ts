import type { Check, Finding } from '../bottle.ts'
import type { LiveCart } from '../model/cart.ts'

const MINUTE_MS = 60_000
/** Part of the past that is compared: what lies before it was compared, what comes after it may still arrive. */
const [FROM_MS, TO_MS] = [25 * MINUTE_MS, 2 * MINUTE_MS]
/** Time in which a parked cart has shown by two positions on which side of a redrawn edge it is. */
const REDRAWN_MS = 12 * MINUTE_MS

interface ShownEvent {
  readonly hardware_id: string
  readonly zone_id: string
  readonly event: 'enter' | 'exit'
  readonly timestamp: string
}

const zoneEvents: Check = {
  number: 55,
  claim: 'zones are entered and left once for each time that a cart does it, and by none that stands',
  when: 'look',
  async find(bottle) {
    const fromMs = bottle.time.nowMs - FROM_MS
    const toMs = bottle.time.nowMs - TO_MS
    const isRestored = bottle.restores.some((one) => one.toMs > fromMs)
    if (isRestored || fromMs < bottle.time.startMs || bottle.wasClockWrong(fromMs)) return []
    const from = new Date(fromMs).toISOString()
    const answer = await bottle.ask('GET', `/geofence-events?limit=1000&from=${from}`)
    if (answer === null) return []
    const events: ShownEvent[] = answer.body.events
    return bottle.carts.flatMap((cart) => compare(cart, { fromMs, toMs, events, barnDrawnAtMs: bottle.barnDrawnAtMs }))
  },
}

interface Shown {
  readonly fromMs: number
  readonly toMs: number
  readonly events: readonly ShownEvent[]
  readonly barnDrawnAtMs: number
}

function compare(cart: LiveCart, { fromMs, toMs, events, barnDrawnAtMs }: Shown): Finding[] {
  const { hardwareId: subject, zonePath: path } = cart
  const own = events.filter(({ hardware_id }) => hardware_id === subject)
  const found: Finding[] = []
  for (const crossing of path.crossings(fromMs, toMs)) {
    // a state of an edge that has changed becomes known without an event
    if (crossing.zoneId === 'barn' && crossing.fromMs < barnDrawnAtMs + REDRAWN_MS) continue
    const count = own.filter(({ zone_id, event, timestamp }) => {
      const atMs = Date.parse(timestamp)
      const isSame = zone_id === crossing.zoneId && event === crossing.event
      return isSame && atMs >= crossing.fromMs && atMs <= crossing.toMs
    }).length
    const when = `of ${crossing.zoneId} after ${new Date(crossing.fromMs).toISOString()}`
    if (count !== 1) found.push({ subject, is: `${count} ${crossing.event} ${when}`, expected: '1' })
  }
  for (const { zone_id: zoneId, event, timestamp } of own) {
    const atMs = Date.parse(timestamp)
    const is = `${event} of ${zoneId} at ${timestamp}`
    if (path.stoodAt(zoneId, atMs)) found.push({ subject, is, expected: 'none: it stood' })
    if (path.isLateAt(atMs)) found.push({ subject, is, expected: 'none: its positions came too late' })
  }
  return found
}

export const zoneChecks: readonly Check[] = [zoneEvents]
