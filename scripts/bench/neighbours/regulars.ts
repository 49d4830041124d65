import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { answerCalls } from '#scripts/rig/calls.ts'
import type { BenchDevice, BenchLogin } from '#scripts/rig/gateway-api.ts'
import type { LatencySummary } from '#scripts/rig/latency.ts'
import { FLEET, MqttSocket } from '#scripts/rig/load/mqtt-socket.ts'
import { NEIGHBOUR_ADDRESS } from '#scripts/rig/neighbours/attack-connection.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import { ApiClient } from '#shared/client.ts'
import { inParallel } from '#shared/in-parallel.ts'
import { acknowledgement, DISCONNECT, PACKET, publishPacket, subscribeAllPacket } from '#testing/mqtt-packets.ts'
import { probe } from './probe.ts'

/** Process of the usual clients: a health monitor, an admin who unlocks carts, and a program that is offline. */

const HEALTH_GAP_MS = 20
const UNLOCK_GAP_MS = 200
const ORDER_GAP_MS = 100
const ORDERS = 'shop/orders'
const KEEP_ALIVE_S = 120
const LOGIN_LIMIT_MS = 30_000
const ORDERS_LIMIT_MS = 10_000
const KEYS_AT_ONCE = 4

export interface RegularsPlan {
  ports: { http: number; mqtt: number }
  admin: BenchLogin
  /** Connected, and unlocked. */
  cart: BenchDevice
}

/** Waiting times and losses of the regular clients. */
export interface RegularsResult {
  health: LatencySummary
  /** Time from an admin's request until it was answered and the cart had received the command. */
  unlock: LatencySummary
  /** Messages missing from the persistent session of a program. */
  ordersLost: number
}

let plan: RegularsPlan | undefined
let cart: MqttSocket | undefined
let till: { stop(): Set<string> } | undefined
let measured: Omit<RegularsResult, 'ordersLost'> | undefined
const delivered = new Set<string>()

/** Connects the others; the shop was connected before and is offline, so that messages are queued for it. */
async function gather(given: RegularsPlan): Promise<void> {
  plan = given
  await comeAndGo(given)
  cart = await watchCart(given, (commandId) => delivered.add(commandId))
  till = await publishOrders(given)
}

async function measure(durationS: number): Promise<void> {
  const gathered = thePlan()
  const [health, unlock] = await Promise.all([
    probe(durationS, HEALTH_GAP_MS, (signal) => askHealth(gathered, signal)),
    probe(durationS, UNLOCK_GAP_MS, (signal) => unlockOnce(gathered, signal)),
  ])
  measured = { health, unlock }
}

/** Returns the results, once no other client loads the gateway. */
async function finish(): Promise<RegularsResult> {
  if (measured === undefined || till === undefined) throw new Error('nothing was measured')
  cart?.end(DISCONNECT)
  return { ...measured, ordersLost: await countLostOrders(thePlan(), till.stop()) }
}

function thePlan(): RegularsPlan {
  if (plan === undefined) throw new Error('the regular clients are not connected')
  return plan
}

async function askHealth({ ports }: RegularsPlan, signal: AbortSignal): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${ports.http}/health`, { signal })
  await response.arrayBuffer()
}

async function unlockOnce({ ports, admin, cart: unlocked }: RegularsPlan, signal: AbortSignal): Promise<void> {
  const client = new ApiClient({
    url: `http://127.0.0.1:${ports.http}`,
    apiKey: admin.password,
    signal,
  })
  const { command_id } = await client.call('POST /devices/{id}/commands', {
    path: { id: unlocked.hardwareId },
    body: { command: 'unlock' },
  })
  await waitUntil(() => signal.aborted || delivered.has(command_id), LOGIN_LIMIT_MS, 1)
}

/** Connects the cart that is unlocked and receives its commands. */
function watchCart({ ports, cart: unlocked }: RegularsPlan, onCommand: (id: string) => void): Promise<MqttSocket> {
  const { hardwareId, password } = unlocked
  const login = { clientId: hardwareId, username: hardwareId, password, keepaliveS: KEEP_ALIVE_S }
  return subscribed(ports.mqtt, login, `dev/${hardwareId}/cmd`, (payload) => {
    const id = /"id":"([^"]+)"/.exec(payload)?.[1]
    if (id !== undefined) onCommand(id)
  })
}

/** Connects the shop and disconnects it again. */
async function comeAndGo({ ports, admin }: RegularsPlan): Promise<void> {
  const login = { ...loginOf(admin, 'regular-shop'), clean: false }
  const shop = await subscribed(ports.mqtt, login, ORDERS, () => undefined)
  shop.end(DISCONNECT)
}

async function publishOrders({ ports, admin }: RegularsPlan): Promise<{ stop(): Set<string> }> {
  const acknowledged = new Set<string>()
  const { promise: ready, resolve } = Promise.withResolvers<void>()
  const socket = new MqttSocket(
    ports.mqtt,
    loginOf(admin, 'regular-till'),
    { connack: () => resolve(), puback: (id) => acknowledged.add(`order ${id}`) },
    FLEET,
  )
  await ready
  let order = 0
  const timer = setInterval(() => {
    order++
    socket.write(publishPacket(ORDERS, `order ${order}`, { id: order }))
  }, ORDER_GAP_MS)
  return {
    stop: () => {
      clearInterval(timer)
      socket.end(DISCONNECT)
      return acknowledged
    },
  }
}

/** Reconnects the shop: messages acknowledged to the till must be in its session. */
async function countLostOrders({ ports, admin }: RegularsPlan, acknowledged: ReadonlySet<string>): Promise<number> {
  const missing = new Set(acknowledged)
  const shop = new MqttSocket(
    ports.mqtt,
    { ...loginOf(admin, 'regular-shop'), clean: false },
    {
      publish: (id, payload) => {
        missing.delete(payload)
        shop.write(acknowledgement(PACKET.puback, id))
      },
    },
    FLEET,
  )
  await waitUntil(() => missing.size === 0, ORDERS_LIMIT_MS)
  shop.end(DISCONNECT)
  return missing.size
}

function loginOf(login: BenchLogin, clientId: string) {
  return { clientId, ...login, keepaliveS: KEEP_ALIVE_S }
}

async function subscribed(
  port: number,
  login: ConstructorParameters<typeof MqttSocket>[1],
  filter: string,
  onMessage: (payload: string) => void,
): Promise<MqttSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket = new MqttSocket(
    port,
    login,
    {
      connack: () => socket.write(subscribeAllPacket([filter])),
      suback: () => resolve(),
      publish: (id, payload) => {
        onMessage(payload)
        if (id !== 0) socket.write(acknowledgement(PACKET.puback, id))
      },
      closed: () => reject(new Error(`cut off while subscribing to ${filter}`)),
    },
    FLEET,
  )
  await promise
  return socket
}

/** Uses each key once, from the address of the noisy client; returns the number of refusals. */
async function useKeys(port: number, keys: readonly string[]): Promise<number> {
  const refused = await inParallel(keys, KEYS_AT_ONCE, async (key) => {
    const options = { port, path: '/devices?limit=1', host: '127.0.0.1', localAddress: NEIGHBOUR_ADDRESS }
    const request = get({ ...options, headers: { 'X-API-Key': key } })
    const [response] = (await once(request, 'response')) as [IncomingMessage] // the event of http.get
    response.resume()
    return response.statusCode === 200 ? 0 : 1
  })
  return refused.reduce<number>((sum, each) => sum + each, 0)
}

const functions = answerCalls({ gather, measure, finish, useKeys })

export type RegularsFunctions = typeof functions
