import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { startGateway } from '#testing/start-gateway.ts'
import { startSimulatedFleet } from './simulated-fleet.ts'
import { LOW_V, StagedCourse } from './staged-course.ts'

async function openCourse(t: TestContext, options: Parameters<StagedCourse['open']>[0] = {}): Promise<StagedCourse> {
  const gateway = await startGateway()
  t.after(() => gateway.stop())
  const course = new StagedCourse(gateway)
  await course.open(options)
  return course
}

test('carts reach the states that they are put into', async (t) => {
  const course = await openCourse(t, { site: { silent_after_s: 1 } })
  const [a, b, c, d] = await course.carts(1, 4)
  assert.ok(a && b && c && d)
  await course.becomes('1', ({ state, lock }) => state === 'in' && lock?.is_locked === true, 'in, locked')
  await b.drives('fairway', { voltageV: LOW_V })
  await course.becomes('2', (cart) => cart.state === 'out' && cart.is_moving && cart.is_low, 'driving, low')
  await c.stands('road')
  await course.becomes('3', ({ state }) => state === 'outside', 'outside')
  await d.drives({ eastM: 350, northM: 260 })
  await d.lose()
  await course.becomes('4', ({ state }) => state === 'silent', 'silent')
  await d.connect()
  await d.stands('green')
  await course.becomes('4', ({ zones }) => zones.some(({ zone_id }) => zone_id === 'green-1'), 'on the green')
  await a.turnsLock('unlock')
  await course.becomes('1', ({ lock }) => lock?.is_locked === false, 'open')
})

test('a cart obeys, accepts, rejects and ignores commands as configured', async (t) => {
  const course = await openCourse(t)
  const cart = await course.cart('17')
  const outcome = async (command: string, wanted: string) => {
    const { body } = await course.gateway.request('POST', `/devices/${cart.hardwareId}/commands`, {
      body: { command },
    })
    const path = `/commands/${body.command_id}`
    await eventually(async () => (await course.gateway.request('GET', path)).body.status === wanted, wanted)
  }
  await outcome('unlock', 'completed')
  await course.becomes('17', ({ lock }) => lock?.is_locked === false, 'open')
  cart.obedience = 'takes'
  await outcome('lock', 'acknowledged')
  await cart.finish()
  await course.becomes('17', ({ lock }) => lock?.is_locked === true, 'locked')
  cart.obedience = 'refuses'
  await outcome('unlock', 'failed')
  cart.obedience = 'ignores'
  await outcome('locate', 'published')
  await cart.receives('locate')
})

test('a course without a barn has carts that are out', async (t) => {
  const course = await openCourse(t, { hasBarn: false })
  await course.cart('1')
  await course.becomes('1', ({ state }) => state === 'out', 'out')
})

test('the simulated fleet sets up its course and drives', async (t) => {
  const gateway = await startGateway()
  t.after(() => gateway.stop())
  const fleet = startSimulatedFleet(gateway, { carts: 3 })
  t.after(() => fleet.stop())
  const isOut = async () => {
    const { body } = await gateway.request('GET', '/carts')
    return body.counts.out + body.counts.in === 3
  }
  await eventually(isOut, 'carts have reported', 30_000)
})
