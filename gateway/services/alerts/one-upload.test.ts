import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { MqttClient } from 'mqtt'
import { FakeClock } from '#shared/testing/clocks.ts'
import { Barn } from '#testing/course/barn.ts'
import { TickWatch } from '#testing/course/tick-watch.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

const SECOND_MS = 1000
const DEGREE_M = 110_574
const clock = new FakeClock()
let gateway: TestGateway
let count = 0
let watch: TickWatch

before(async () => {
  gateway = await startGateway({}, { clock, isTimeSynchronized: () => true })
  watch = await TickWatch.start(await Barn.draw(gateway))
})
after(() => gateway.stop())

interface Fix {
  ts: number
  lat: number
  long: number
}

/** A fix this many metres north of 0.1, 0.1, this many seconds ago. */
function fix(northM: number, agoS: number): Fix {
  return { ts: clock.nowMs() - agoS * SECOND_MS, lat: round(0.1 + northM / DEGREE_M), long: 0.1 }
}

function round(degrees: number): number {
  return Math.round(degrees * 1e7) / 1e7
}

/** A band across the cart's track. */
function zone(id: string, fromM: number, toM: number, type: string) {
  const [south, north] = [0.1 + fromM / DEGREE_M, 0.1 + toM / DEGREE_M]
  const ring = [
    [0.09, south],
    [0.11, south],
    [0.11, north],
    [0.09, north],
    [0.09, south],
  ]
  const geometry = { type: 'Polygon', coordinates: [ring] }
  return { type: 'Feature', id, geometry, properties: { name: id, type } }
}

const ZONES = [zone('barn', -100, 20, 'parking'), zone('course', -500, 300, 'boundary'), zone('pond', 100, 200, 'stop')]

/** A locked cart among zones. */
class LockedCart {
  readonly hardwareId = `upload-${++count}`
  #client: MqttClient | undefined

  static async open(...zones: unknown[]): Promise<LockedCart> {
    const cart = new LockedCart()
    const { hardwareId } = cart
    cart.#client = await gateway.device(hardwareId)
    const group = await gateway.request('POST', '/groups', { body: { name: hardwareId } })
    const path = `/groups/${group.body.group_id}`
    const body = { type: 'FeatureCollection', features: zones }
    assert.equal((await gateway.request('PUT', `${path}/geofences`, { body })).status, 200)
    assert.equal((await gateway.request('PUT', `${path}/devices/${hardwareId}`)).status, 200)
    await cart.publish('evt', { event: 'lock', source: 'key', ts: clock.nowMs() - 280 * SECOND_MS })
    await watch.tick()
    return cart
  }

  async publish(level: string, body: unknown): Promise<void> {
    await this.#client?.publishAsync(`dev/${this.hardwareId}/${level}`, JSON.stringify(body), { qos: 1 })
  }

  /** Alerts by kind and subject, zone events, the round, and the current zones. */
  async outcome() {
    // one tick finds a change, the next one writes it
    for (let i = 0; i < 3; i++) await watch.tick()
    const alerts = await gateway.request('GET', `/alerts?limit=1000&cart=${this.hardwareId}`)
    const events = await gateway.request('GET', `/geofence-events?limit=1000&hardware_id=${this.hardwareId}`)
    const cart = await gateway.request('GET', `/carts/${this.hardwareId}`)
    const rounds = await gateway.request('GET', '/rounds?state=running')
    const { zones, state, parked_since, out_since } = cart.body
    return {
      alerts: alerts.body.alerts
        .filter((alert: { cart: string }) => alert.cart === this.hardwareId)
        .map(({ kind, details }: Kind) => `${kind} ${details.name ?? ''}`.trim())
        .sort(),
      events: events.body.events.map((e: Record<string, string>) => [e.event, e.zone_id, e.timestamp]),
      rounds: (rounds.body.rounds ?? []).filter((one: { cart: string }) => one.cart === this.hardwareId).length,
      cart: { zones, state, parked_since, out_since },
    }
  }
}

interface Kind {
  kind: string
  details: { name?: string }
}

test('a new cart that is locked and moves within one message raises the alert', async () => {
  const cart = await LockedCart.open()
  await cart.publish('tlm', [fix(0, 20), fix(40, 10), fix(89, 0)])
  assert.deepEqual((await cart.outcome()).alerts, ['moved_while_locked'])
})

test('a cart that was last seen ten minutes ago and moves within one message raises the alert', async () => {
  const cart = await LockedCart.open()
  await cart.publish('tlm', fix(0, 0))
  await cart.outcome()
  clock.advance(600 * SECOND_MS)
  const moved = Array.from({ length: 31 }, (_, i) => fix((i * 100) / 30, 30 - i))
  await cart.publish('tlm', moved)
  assert.deepEqual((await cart.outcome()).alerts, ['moved_while_locked'])
})

test('single messages within one second are judged one by one', async () => {
  const cart = await LockedCart.open()
  for (const one of [fix(0, 20), fix(40, 10), fix(89, 0)]) void cart.publish('tlm', one)
  assert.deepEqual((await cart.outcome()).alerts, ['moved_while_locked'])
})

test('leaving the course and coming back within one message raises the alert, once', async () => {
  const cart = await LockedCart.open(zone('course', -500, 300, 'boundary'))
  await cart.publish('evt', { event: 'unlock', source: 'key', ts: clock.nowMs() - 270 * SECOND_MS })
  await cart.publish('tlm', [fix(0, 200), fix(0, 190)])
  await cart.outcome()
  await cart.publish('tlm', [fix(350, 150), fix(350, 140), fix(350, 130), fix(0, 20), fix(0, 10)])
  assert.deepEqual((await cart.outcome()).alerts, ['outside'])
  assert.deepEqual((await cart.outcome()).alerts, ['outside'])
})

test('a stay in a stop zone that was too long raises the alert although its message ends outside', async () => {
  const cart = await LockedCart.open(zone('pond', 100, 200, 'stop'))
  await cart.publish('evt', { event: 'unlock', source: 'key', ts: clock.nowMs() - 270 * SECOND_MS })
  await cart.publish('tlm', [fix(0, 250), fix(0, 240)])
  await cart.outcome()
  await cart.publish('tlm', [fix(150, 220), fix(150, 210), fix(150, 30), fix(0, 20), fix(0, 10)])
  assert.deepEqual((await cart.outcome()).alerts, ['zone_stay pond'])
})

test('however fixes are split into messages, alerts, zones and rounds come out the same', async () => {
  const ways = fc.array(
    fc.record({ northM: fc.constantFrom(0, 10, 60, 150, 250, 350, 420), size: fc.integer({ min: 1, max: 6 }) }),
    { minLength: 3, maxLength: 14 },
  )
  await fc.assert(
    fc.asyncProperty(ways, async (way) => {
      const singles = await LockedCart.open(...ZONES)
      const batches = await LockedCart.open(...ZONES)
      for (const cart of [singles, batches]) await cart.publish('tlm', [fix(0, 20), fix(0, 10)])
      let held: Fix[] = []
      let room = 0
      for (const { northM, size } of way) {
        // so few seconds that the fixes still to be sent make nothing too long
        clock.advance(3 * SECOND_MS)
        const one = fix(northM, 0)
        await singles.publish('tlm', one)
        if (held.length === 0) room = size
        held.push(one)
        if (held.length === room) {
          await batches.publish('tlm', held)
          held = []
        }
        await watch.tick()
      }
      if (held.length > 0) await batches.publish('tlm', held)
      // a dwell that ended before it was detected opens once more for each time
      const [one, other] = [await singles.outcome(), await batches.outcome()]
      assert.deepEqual({ ...other, alerts: [...new Set(other.alerts)] }, { ...one, alerts: [...new Set(one.alerts)] })
    }),
    { numRuns: 6 },
  )
})
