import { CODE, sees, seesCodes } from '../model/rights.ts'
import { CART_ID, type Desks } from './desks.ts'

const RANK = { user: 0, staff: 1, admin: 2 } as const
const PATHS = [
  ['/devices?limit=1000', 'user'],
  ['/carts', 'user'],
  ['/lock-events?limit=50', 'user'],
  ['/geofence-events?limit=50', 'user'],
  ['/alerts?limit=100', 'user'],
  ['/commands?limit=50', 'staff'],
  ['/groups', 'staff'],
  ['/site', 'staff'],
  ['/recall', 'staff'],
  ['/users', 'admin'],
  ['/sessions', 'admin'],
  ['/audit-log?limit=1', 'admin'],
] as const
const OF_DEVICE = ['', '/gps?limit=1', '/battery/latest', '/trips'] as const

/** Reads what one tablet after the other may and may not read, and looks into the responses. */
export async function readAround(people: Desks): Promise<void> {
  const { desks, bottle } = people
  // each request costs time
  if (bottle.looks % 2 === 1) return
  const desk = desks[(bottle.looks / 2) % desks.length]
  if (desk === undefined || !desk.rights.hasSession) return
  const { nowMs } = bottle.time
  const [could, ...others] = desk.rights.possibleAt(nowMs, 1)
  if (could === undefined || others.length > 0) return
  const cart = bottle.carts[(bottle.looks / 2) % bottle.carts.length]
  const ofCart =
    cart === undefined
      ? []
      : OF_DEVICE.slice(0, 3).map((end) => [`/devices/${cart.hardwareId}${end}`, 'user', cart.hardwareId] as const)
  const paths: readonly (readonly [string, keyof typeof RANK, string?])[] = [...PATHS, ...ofCart]
  for (const [path, role, hardwareId] of paths) {
    const answer = await people.ask(desk, 'GET', path)
    if (answer == null || bottle.time.nowMs !== nowMs) return
    const { status, text } = answer
    const may = RANK[could.role] >= RANK[role] && (hardwareId === undefined || sees(could, hardwareId))
    if ((status === 403) === may || status === 401)
      people.found(36, desk, `${path} as ${could.role}: ${status}`, may ? 'a response' : '403')
    if (status >= 300) continue
    const ids = new Set(text.match(CART_ID))
    for (const id of ids) if (!sees(could, id)) people.found(36, desk, `${path} with ${id}`, 'other ids only')
    if (CODE.test(text) && !seesCodes(could)) people.found(36, desk, `${path} with a code`, 'masked')
    if (path !== PATHS[0][0]) continue
    const missing = bottle.carts.filter((one) => sees(could, one.hardwareId) && !ids.has(one.hardwareId))
    if (missing.length > 0) people.found(36, desk, `${path} without ${missing[0]?.hardwareId}`, 'all of the scope')
  }
}
