import { answerCalls } from '#scripts/rig/calls.ts'
import { type BenchDevice, type BenchLogin, loginOf } from '#scripts/rig/gateway-api.ts'
import { ask } from '#scripts/rig/neighbours/ask.ts'
import { NEIGHBOUR_ADDRESS } from '#scripts/rig/neighbours/attack-connection.ts'
import { SessionClient } from '#scripts/rig/session-client.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import { ApiClient } from '#shared/client.ts'
import { inParallel } from '#shared/in-parallel.ts'
import { probe } from './probe.ts'

/** Process of the usual clients: a health monitor, an admin who unlocks a cart, and a shop that is offline. */

const HEALTH_GAP_MS = 20
const UNLOCK_GAP_MS = 200
const ORDER_GAP_MS = 100
const ORDERS = 'shop/orders'
const RECEIVED_LIMIT_MS = 30_000
const ORDERS_LIMIT_MS = 10_000
const KEYS_AT_ONCE = 4

interface RegularsPlan {
  ports: { http: number; mqtt: number }
  admin: BenchLogin
  /** Connected, and unlocked. */
  cart: BenchDevice
}

let plan: RegularsPlan
let clients: { cart: SessionClient; shop: SessionClient; till: SessionClient }
let ordering: NodeJS.Timeout
let orders = 0
let measured = { healthMs: 0, unlockMs: 0, keysRefused: 0 }
/** Orders acknowledged to the till that the shop has not received. */
const missing = new Set<string>()
/** Ids of commands that the cart has received. */
const delivered = new Set<string>()

/** Connects the others; the shop was connected before and is offline, so that orders are queued for it. */
async function gather(given: RegularsPlan): Promise<void> {
  plan = given
  const common = { port: plan.ports.mqtt, ...plan.admin, isPersistent: false }
  const subscriptions = { [`dev/${plan.cart.hardwareId}/cmd`]: 1 } as const
  const cart = new SessionClient({ ...common, ...loginOf(plan.cart), subscriptions })
  cart.onDelivery = ({ payload }) => delivered.add(/"id":"([^"]+)"/.exec(payload)?.[1] ?? '')
  const till = new SessionClient({ ...common, clientId: 'regular-till' })
  till.onAcknowledged = ({ payload }) => missing.add(payload)
  const queued = { isPersistent: true, subscriptions: { [ORDERS]: 1 } } as const
  const shop = new SessionClient({ ...common, clientId: 'regular-shop', ...queued })
  clients = { cart, shop, till }
  await Promise.all(Object.values(clients).map(goOnline))
  shop.goOffline('politely')
  missing.clear()
  ordering = setInterval(() => {
    till.publish({ topic: ORDERS, payload: `order ${orders++}`, qos: 1, retain: false })
  }, ORDER_GAP_MS)
}

function goOnline(client: SessionClient): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  client.onReady = resolve
  client.goOnline()
  return promise
}

/** Measures their waiting times, while each of the keys is used once. */
async function measure(durationS: number, keys: readonly string[]): Promise<void> {
  const [health, unlock, keysRefused] = await Promise.all([
    probe(durationS, HEALTH_GAP_MS, async (signal) => {
      await (await fetch(`http://127.0.0.1:${plan.ports.http}/health`, { signal })).arrayBuffer()
    }),
    probe(durationS, UNLOCK_GAP_MS, unlockOnce),
    countRefused(keys),
  ])
  measured = { healthMs: health.p99Ms, unlockMs: unlock.maxMs, keysRefused }
}

/** Requests an unlock; resolves when it was answered and the cart has the command. */
async function unlockOnce(signal: AbortSignal): Promise<void> {
  const url = `http://127.0.0.1:${plan.ports.http}`
  const client = new ApiClient({ url, apiKey: plan.admin.password, signal })
  const call = { path: { id: plan.cart.hardwareId }, body: { command: 'unlock' } } as const
  const { command_id } = await client.call('POST /devices/{id}/commands', call)
  await waitUntil(() => signal.aborted || delivered.has(command_id), RECEIVED_LIMIT_MS, 1)
}

/** Uses each key once, from the address of the noisy client; returns the number of refusals. */
async function countRefused(keys: readonly string[]): Promise<number> {
  const request = { port: plan.ports.http, path: '/devices?limit=1', localAddress: NEIGHBOUR_ADDRESS }
  const statuses = await inParallel(keys, KEYS_AT_ONCE, (key) => ask({ ...request, key }))
  return statuses.filter((status) => status !== 200).length
}

/** Returns the results, once no other client loads the gateway: orders of the till must be in the shop's session. */
async function finish(): Promise<typeof measured & { ordersLost: number }> {
  const { cart, shop, till } = clients
  clearInterval(ordering)
  till.goOffline('politely')
  cart.goOffline('politely')
  shop.onDelivery = ({ payload }) => missing.delete(payload)
  shop.goOnline()
  await waitUntil(() => missing.size === 0, ORDERS_LIMIT_MS)
  shop.goOffline('politely')
  return { ...measured, ordersLost: missing.size }
}

const functions = answerCalls({ gather, measure, finish })

export type RegularsFunctions = typeof functions
