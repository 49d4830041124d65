import { z } from 'zod'
import type { GatewayProcess } from '#scripts/rig/gateway-process.ts'
import { must } from '#scripts/rig/staff-course.ts'
import type { GolfCart } from './golf-cart.ts'
import type { Delivery, WebhookReceiver } from './receiver.ts'
import type { Uptime } from './uptime.ts'

const alertsSchema = z.looseObject({
  alerts: z.array(z.looseObject({ alert_id: z.string(), opened_at: z.string(), closed_at: z.string().nullable() })),
})
const commandsSchema = z.looseObject({
  commands: z.array(z.looseObject({ command_id: z.string(), requested_by: z.string().nullable() })),
})

export interface StoredAlert {
  alertId: string
  openedAtMs: number
  isClosed: boolean
}

/** Comparison of the excursions and stays of all carts with the gateway's reactions and the deliveries. */
export interface CourseCheck {
  excursions: number
  stays: number
  /** Excursions without an alert. */
  missing: number
  /** Additional alerts of one excursion. */
  twice: number
  /** Alerts that were opened long after the gateway knew of the excursion. */
  late: number
  /** Longest delay, in uptime of the gateway. */
  longestMs: number
  notClosed: number
  /** Events of alerts that were never delivered, delivered under several ids, or with the end before the beginning. */
  notDelivered: number
  deliveredTwice: number
  outOfOrder: number
  /** Stays without a lock; `lockedTwice`: additional locks of one stay. */
  notLocked: number
  lockedTwice: number
}

/** Limit in uptime of the gateway: many ticks, each of which must notice. */
const LATE_MS = 10_000
const PAGE = 1000

/** Compares the carts' movements with the alerts and commands of a gateway, and with the deliveries. */
export async function checkCourse(
  gateway: GatewayProcess,
  carts: readonly GolfCart[],
  receiver: WebhookReceiver,
  uptime: Uptime,
): Promise<CourseCheck> {
  const check: CourseCheck = {
    excursions: 0,
    stays: 0,
    missing: 0,
    twice: 0,
    late: 0,
    longestMs: 0,
    notClosed: 0,
    notDelivered: 0,
    deliveredTwice: 0,
    outOfOrder: 0,
    notLocked: 0,
    lockedTwice: 0,
  }
  for (const cart of carts) {
    const stored = await readAlerts(gateway, cart)
    judgeAlerts(check, cart, { stored, deliveries: receiver.deliveries, uptime })
    const locks = await countAutoLocks(gateway, cart)
    check.stays += cart.stays
    check.notLocked += Math.max(0, cart.stays - locks)
    check.lockedTwice += Math.max(0, locks - cart.stays)
  }
  return check
}

/** Reactions of the gateway to the excursions of a cart; alerts in the order of their opening. */
interface Made {
  stored: readonly StoredAlert[]
  deliveries: readonly Delivery[]
  uptime: Uptime
}

/** Adds the result for the excursions of a cart to `check`. */
export function judgeAlerts(
  check: CourseCheck,
  { excursions }: Pick<GolfCart, 'excursions'>,
  { stored, deliveries, uptime }: Made,
): void {
  check.excursions += excursions.length
  check.missing += Math.max(0, excursions.length - stored.length)
  check.twice += Math.max(0, stored.length - excursions.length)
  check.notClosed += stored.filter(({ isClosed }) => !isClosed).length
  for (const [i, { alertId, openedAtMs }] of stored.entries()) {
    const tookMs = uptime.upMs(excursions[i]?.knownAtMs ?? openedAtMs, openedAtMs)
    check.longestMs = Math.max(check.longestMs, tookMs)
    if (tookMs > LATE_MS) check.late += 1
    const events = deliveries.filter((delivery) => delivery.alertId === alertId).map(({ event }) => event)
    const kinds = new Set(events)
    check.notDelivered += ['opened', 'closed'].filter((event) => !kinds.has(event)).length
    check.deliveredTwice += events.length - kinds.size
    if (kinds.has('opened') && events[0] !== 'opened') check.outOfOrder += 1
  }
}

async function readAlerts(gateway: GatewayProcess, { cart }: GolfCart): Promise<StoredAlert[]> {
  const path = `/alerts?kind=outside&cart=${encodeURIComponent(cart)}&limit=${PAGE}`
  const { alerts } = alertsSchema.parse(await must(gateway, 'GET', path))
  return alerts
    .map(({ alert_id, opened_at, closed_at }) => ({
      alertId: alert_id,
      openedAtMs: Date.parse(opened_at),
      isClosed: closed_at !== null,
    }))
    .sort((a, b) => a.openedAtMs - b.openedAtMs)
}

async function countAutoLocks(gateway: GatewayProcess, { hardwareId }: GolfCart): Promise<number> {
  const path = `/devices/${hardwareId}/commands?limit=${PAGE}`
  const { commands } = commandsSchema.parse(await must(gateway, 'GET', path))
  return commands.filter(({ requested_by: by }) => by === 'auto-lock').length
}
