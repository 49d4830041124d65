import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CHECKLIST_STEPS } from '#shared/wire/machine/checklist.ts'
import { ok, scene } from '#testing/scene.ts'

const { g, onlyFor } = scene({ inScope: ['cart-1'] })

onlyFor('staff', ['GET', '/checklist'])

async function states(get = () => g.get('/checklist')): Promise<Record<string, [done: boolean, count: unknown]>> {
  const { steps } = await ok(get())
  return Object.fromEntries(
    steps.map(({ step, done, count }: Record<string, never>) => [step, [done, count]]),
  ) as Record<string, [boolean, unknown]>
}

const ANY = { headers: { 'if-match': '*' } }

const circle = (type: string, id: string) => ({
  type: 'Feature',
  geometry: { type: 'Point', coordinates: [13.1, 52.5] },
  properties: { id, name: id, type, radius_m: 30 },
})

test('each step is done once the gateway has what it names, and not before', async () => {
  const nothing = await states()
  assert.deepEqual(Object.keys(nothing), [...CHECKLIST_STEPS])
  assert.deepEqual(
    Object.entries(nothing).filter(([, [done]]) => done),
    [],
  )
  await g.register('tb-1')
  await ok(g.put('/zones', { type: 'FeatureCollection', features: [circle('parking', 'barn')] }, ANY))
  assert.deepEqual(await states(), { ...nothing, devices: [true, 1], barn: [true, null] })
  await ok(
    g.put('/zones', { type: 'FeatureCollection', features: [circle('stop', 's1'), circle('parking', 'barn')] }, ANY),
  )
  await ok(g.patch('/site', { opening_hours: { mon: ['07:00', '20:00'] }, lock_at_closing: true }))
  const { userId } = await g.createUser({ name: 'Ben', role: 'staff' })
  await ok(g.put(`/users/${userId}/pin`, { pin: '4711' }))
  await ok(g.post('/webhooks', { url: 'http://127.0.0.1:9/' }), 201)
  const hole = {
    type: 'Feature',
    geometry: {
      type: 'LineString',
      coordinates: [
        [13.1, 52.5],
        [13.1, 52.501],
      ],
    },
    properties: { golf: 'hole', ref: '1' },
  }
  await ok(g.put('/course', { type: 'FeatureCollection', features: [hole] }, ANY))
  const tablet = await g.signIn()
  const done = await states()
  assert.deepEqual(
    Object.entries(done).filter(([, [isDone]]) => !isDone),
    ['backup', 'encryption'].map((step) => [step, [false, null]]),
  )
  // the caller's own tablet does not count
  assert.deepEqual((await states(() => tablet.request('GET', '/checklist'))).tablets, [false, 0])
})

test('the checklist stays hidden once an admin has hidden it', async () => {
  assert.equal((await ok(g.get('/checklist'))).hidden, false)
  await ok(g.patch('/site', { hide_checklist: true }))
  assert.equal((await ok(g.get('/checklist'))).hidden, true)
  await g.restart()
  assert.equal((await ok(g.get('/checklist'))).hidden, true)
  await ok(g.patch('/site', { hide_checklist: null }))
  assert.equal((await ok(g.get('/checklist'))).hidden, false)
})
