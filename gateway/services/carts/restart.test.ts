import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import Database from 'better-sqlite3'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { MINUTE_MS, toIso } from '#shared/time.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import { Course, type CourseDevice } from '#testing/course/course.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

const clock = new FakeClock()
let g: TestGateway
let course: Course
let count = 0

before(async () => {
  g = await startGateway({}, { clock })
  course = new Course(g, clock)
  await course.group(7)
  await g.request('PATCH', '/site', { body: { pack: { empty_v: 47, low_v: 48, full_v: 51 } } })
})
after(() => g.stop())

/** Returns the stored motion of carts of a stopped gateway, after `change`. */
function stored(change: (database: Database.Database) => void = () => undefined): string {
  const database = new Database(join(g.config.dataDir, 'cartbarn.db'))
  change(database)
  const rows = database.prepare('SELECT device_id, motion FROM cart_motion ORDER BY device_id').all()
  database.close()
  return JSON.stringify(rows)
}

function without({ devices: _, ...cart }: CartJson): object {
  return cart
}

/** A cart that stood in the barn for ten minutes and then left it. */
async function driven(): Promise<{ id: string; device: CourseDevice; leftMs: number }> {
  const id = `d${++count}`
  const device = await course.device(id, { groupId: 7 })
  for (let minute = 0; minute < 10; minute++) {
    clock.advance(MINUTE_MS)
    await device.report('barn', { battery_voltage: 50 - minute / 100 })
  }
  await device.goTo('green', { speed: 12, battery_voltage: 49 })
  const leftMs = clock.nowMs() - 1000
  await device.goTo('fairway', { speed: 12, battery_voltage: 49 })
  return { id, device, leftMs }
}

test('a gateway without saved cart states derives them from the history', async () => {
  const { id, leftMs } = await driven()
  const before = await course.cart(id)
  assert.deepEqual([before.state, before.out_since], ['out', toIso(leftMs)])
  assert.ok(before.battery?.rest_voltage === 49.91 && before.position?.heading === 0)
  await g.restart(() => stored((database) => database.exec('DELETE FROM cart_motion')))
  assert.deepEqual(without(await course.cart(id)), without(before))
})

test('a killed gateway continues from its last saved cart state and reads later samples', async () => {
  const { id, device } = await driven()
  let kept = ''
  await g.restart(() => {
    kept = stored()
  })
  const { body } = await g.request('POST', `/devices/${id}/rotate-mqtt-password`)
  const again = await course.connect(id, body.mqtt.password)
  for (let i = 0; i < 3; i++) {
    clock.advance(MINUTE_MS)
    await again.goTo('barn', { battery_voltage: 49.5 })
  }
  clock.advance(5 * MINUTE_MS)
  await again.report('barn', { battery_voltage: 49.4 })
  const before = await course.cart(id)
  assert.deepEqual([before.state, before.battery?.rest_voltage], ['in', 49.4])
  await g.restart(() =>
    stored((database) => {
      for (const { device_id, motion } of JSON.parse(kept))
        database.prepare('UPDATE cart_motion SET motion = ? WHERE device_id = ?').run(motion, device_id)
    }),
  )
  assert.deepEqual(without(await course.cart(id)), without(before))
  await device.leave()
})

test('the exemption of a cart, or its end, holds over a restart', async () => {
  const [one, two] = [`d${++count}`, `d${++count}`]
  for (const id of [one, two]) await course.device(id)
  const allow = (id: string, exempt: object | null) => g.request('PATCH', `/carts/${id}`, { body: { exempt } })
  const configOf = async (id: string) => (await g.request('GET', `/devices/${id}/config`)).body
  const becomes = (id: string, types: readonly string[]) =>
    eventually(
      async () => JSON.stringify((await configOf(id)).resolved.zone_exempt) === JSON.stringify(types),
      `${id} has ${types}`,
    )
  for (const id of [one, two]) await allow(id, { zone_types: ['stop'], why: 'Flag' })
  for (const id of [one, two]) await becomes(id, ['stop'])
  await allow(two, null)
  await becomes(two, [])
  const before = await Promise.all([one, two].map(configOf))
  await g.restart()
  assert.deepEqual(await Promise.all([one, two].map(configOf)), before)
  assert.deepEqual((await course.cart(one)).exempt?.zone_types, ['stop'])
})

for (const motion of ['', '{', '[]', 'null', '{"motion":{}}'])
  test(`a cart state saved as ${JSON.stringify(motion)} is derived again from the history`, async () => {
    const { id } = await driven()
    const before = await course.cart(id)
    await g.restart(() => stored((database) => database.prepare('UPDATE cart_motion SET motion = ?').run(motion)))
    assert.deepEqual(without(await course.cart(id)), without(before))
  })

test('the note of a removed cart is deleted after a restart', async () => {
  const left = () =>
    stored((database) => {
      const row = database.prepare("SELECT cart FROM cart_note WHERE cart = 'gone'").get()
      assert.equal(row, undefined)
    })
  await g.restart(() =>
    stored((database) => {
      const sql = "INSERT INTO cart_note (cart, note, updated_at_ms) VALUES ('gone', 'Squeaks', 1)"
      database.exec(sql)
    }),
  )
  await g.restart(left)
  await course.device(`d${++count}`, { cart: 'gone' })
  assert.equal((await course.cart('gone')).note, null)
})

test('the cart state is saved once a minute after a change, and not while no messages arrive', async () => {
  const { id, device } = await driven()
  const rowOf = () => {
    const database = new Database(join(g.config.dataDir, 'cartbarn.db'), { readonly: true })
    const row = database
      .prepare('SELECT motion FROM cart_motion JOIN device USING (device_id) WHERE hardware_id = ?')
      .get(id) as { motion: string } | undefined
    database.close()
    return row?.motion ?? ''
  }
  clock.advance(MINUTE_MS)
  await eventually(() => rowOf() !== '', 'it is written')
  const first = rowOf()
  clock.advance(1000)
  await device.report('fairway', { speed: 12 })
  clock.advance(MINUTE_MS)
  await eventually(() => rowOf() !== first, 'it is written again')
})
