import { z } from 'zod'
import { ApiClient, ApiError } from '#shared/client.ts'
import { typedCommand } from '#shared/typed-command.ts'
import type { NewGeofences } from '#shared/wire/geofences.ts'
import { drawingOf } from './course/drawing.ts'
import { zonesOf } from './course/zones.ts'
import { COURSE_NAME, courseSettings } from './course-settings.ts'
import type { FleetPlan } from './fleet-plan.ts'
import type { SimulateOptions } from './options.ts'
import { asked, listDevices, type Registry } from './register.ts'

/** Names of golfers, four to a party. */
const PLAYERS = 'Miller Jones Smith Brown Weber Klein Wolf Koch Davis Clark Lewis Young Berger Vogel Huber Lang'.split(
  ' ',
)

const drawnSchema = z.looseObject({ features: z.array(z.unknown()) })

/** Sets the zones and the name of the simulated course at a gateway that has none; leaves other gateways unchanged. */
export async function setUpCourse(
  plan: FleetPlan,
  { gatewayUrl: url, adminKey: apiKey }: Pick<SimulateOptions, 'gatewayUrl' | 'adminKey'>,
  { nowMs, signal }: { nowMs: number; signal: AbortSignal },
): Promise<void> {
  const gateway: Registry = { name: 'gateway', startedWith: typedCommand('run'), url, signal }
  const client = new ApiClient({ url, apiKey, signal })
  await asked(gateway, 'take the settings', () => setUpSite(client, nowMs))
  await asked(gateway, 'take the drawing of the course', () => drawCourse(client, plan))
  await asked(gateway, 'take the zones', () => drawZones(client, plan))
}

/**
 * Creates one group of all registered carts, as zones are sent by group, sets the kinds of carts and gives out the golf
 * carts and plans their service, unless a group exists or the course is real.
 */
export async function groupFleet(
  plan: FleetPlan,
  { gatewayUrl: url, adminKey: apiKey }: Pick<SimulateOptions, 'gatewayUrl' | 'adminKey'>,
  signal: AbortSignal,
): Promise<void> {
  const gateway: Registry = { name: 'gateway', startedWith: typedCommand('run'), url, signal }
  const client = new ApiClient({ url, apiKey, signal })
  await asked(gateway, 'take a group', () => groupCarts(client, plan))
}

/** A course that was set up before starts its mid-morning again. */
async function setUpSite(client: ApiClient, nowMs: number): Promise<void> {
  const { name, time_zone: zone } = await client.call('GET /site')
  const settings = courseSettings(nowMs)
  if (name === '') await client.call('PATCH /site', { body: settings })
  else if (name === COURSE_NAME && zone.startsWith('Etc/'))
    await client.call('PATCH /site', { body: { time_zone: settings.time_zone } })
}

/** Stores a course map of the area that carts drive on, if none exists and the course is not a real one. */
async function drawCourse(client: ApiClient, plan: FleetPlan): Promise<void> {
  const { features } = drawnSchema.parse(await (await client.download('GET /course')).json())
  if (features.length > 0 || (await isReal(client))) return
  await client.call('PUT /course', {
    body: { type: 'FeatureCollection', ...drawingOf(plan.course, plan.carts) },
  })
}

async function groupCarts(client: ApiClient, plan: FleetPlan): Promise<void> {
  if ((await client.call('GET /groups')).length > 0 || (await isReal(client))) return
  const own = new Set(plan.fleet.flatMap(({ devices }) => devices.map(({ hardwareId }) => hardwareId)))
  const known = (await listDevices(client)).filter(({ hardware_id }) => own.has(hardware_id))
  const { group_id: groupId } = await client.call('POST /groups', { body: { name: 'All carts' } })
  for (const { hardware_id: id } of known)
    await client.call('PUT /groups/{groupId}/devices/{id}', { path: { groupId, id } })
  const kinds = new Map(
    plan.fleet.flatMap(({ kind, devices }) => devices.map((one) => [one.hardwareId, kind] as const)),
  )
  for (const { hardware_id: cart } of known) {
    const kind = kinds.get(cart)
    if (kind !== undefined && kind !== 'golf_cart')
      await client.call('PATCH /carts/{cart}', { path: { cart }, body: { kind } })
  }
  await giveOut(client)
  await planServices(client)
}

/** Gives out pairs of carts and books every third party without any, so that a demo has both. */
async function giveOut(client: ApiClient): Promise<void> {
  const { carts } = await client.call('GET /carts', { query: { kind: 'golf_cart' } })
  const names = carts.map(({ cart }) => cart)
  for (let i = 0; i + 1 < names.length; i += 2) {
    const players = PLAYERS.slice((2 * i) % PLAYERS.length, ((2 * i) % PLAYERS.length) + 4)
    const given = names.slice(i, i + 2).map((cart, n) => ({ cart, driver: players[n] ?? null }))
    await client.call('POST /parties', { body: { players, carts: i % 6 === 4 ? [] : given, unlock: false } })
  }
}

/** Plans a service that is due for the first cart of a demo, and soon for the second. */
async function planServices(client: ApiClient): Promise<void> {
  const { carts } = await client.call('GET /carts', { query: { kind: 'golf_cart' } })
  await client.call('POST /service-plans', { body: { name: 'Brakes', every: { hours: 250, days: 180 } } })
  for (const [i, { cart }] of carts.slice(0, 2).entries())
    await client.call('PATCH /carts/{cart}', { path: { cart }, body: { meter: { hours: 250 - 10 * i } } })
}

/** True if staff have given it another name, or have drawn its zones. */
async function isReal(client: ApiClient): Promise<boolean> {
  const { name } = await client.call('GET /site')
  return name !== COURSE_NAME
}

/** Stores zones if none have been drawn. */
async function drawZones(client: ApiClient, plan: FleetPlan): Promise<void> {
  const response = await client.download('GET /zones')
  const { features } = drawnSchema.parse(await response.json())
  if (features.length > 0) return
  // zones that staff draw meanwhile win
  const headers = { 'If-Match': response.headers.get('etag') ?? '*' }
  const body = await zonesFor(client, plan)
  await client.call('PUT /zones', { body, headers }).catch((error: unknown) => {
    if (!(error instanceof ApiError && error.status === 412)) throw error
  })
}

/** Returns only those of the simulated course if nothing can be proposed: for a real one without a course map. */
async function zonesFor(client: ApiClient, plan: FleetPlan): Promise<NewGeofences> {
  const simulated = zonesOf(plan.course, plan.carts)
  try {
    const { features, type } = await client.call('POST /course/propose-zones')
    const barn = simulated.features.filter(({ properties }) => properties.type === 'parking')
    return { type, features: [...barn, ...features] }
  } catch (error) {
    if (error instanceof ApiError && error.code === 'no_course') return simulated
    throw error
  }
}
