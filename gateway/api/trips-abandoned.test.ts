import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get } from 'node:http'
import { after, afterEach, before, mock, test } from 'node:test'
import { FairQueue } from '#shared/budgets/fair-queue.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { HeldJobs } from '#testing/held-jobs.ts'
import { ok, pluck, scene } from '#testing/scene.ts'
import { ADMIN_KEY } from '#testing/start-gateway.ts'

const RANGE = 'from=2026-05-04&to=2026-05-05'
const DEVICES = Array.from({ length: 20 }, (_, i) => `cart-${i}`)
const { g } = scene({ isRealTime: true, devices: DEVICES })
let jobs: HeldJobs
let user: { key: string }

before(async () => {
  user = await g.createUser({ allowed_hardware_ids: ['cart-0'] })
  jobs = new HeldJobs()
})
afterEach(() => jobs.release())
after(() => {
  jobs.end()
  mock.restoreAll()
})

for (const [what, path, job] of [
  ['a list of trips', `/trips?${RANGE}`, 'trips'],
  ['a list of active trips', '/trips/active', 'activeTrips'],
  ['a history', '/devices/cart-0/gps', 'historyPage'],
] as const)
  test(`${what} is read no further when the client has gone`, async (t) => {
    jobs.hold()
    const removing = t.mock.method(FairQueue.prototype, 'remove')
    const request = get(`${g.http}${path}`, { headers: { 'x-api-key': ADMIN_KEY } })
    request.on('error', () => undefined)
    await eventually(() => jobs.given.length > 0, 'the first job')
    request.destroy()
    await eventually(() => removing.mock.callCount() > 0, 'the client is missed')
    jobs.release()
    await ok(g.get(`/trips/cart-0?${RANGE}`, { key: user.key }))
    assert.deepEqual(pluck(jobs.given, 'name'), [job, 'trips'])
  })

test('a map is read no further when the client leaves during it', async (t) => {
  jobs.hold()
  const removing = t.mock.method(FairQueue.prototype, 'remove')
  const headers = { 'x-api-key': ADMIN_KEY, accept: 'application/geo+json' }
  const request = get(`${g.http}/trips?${RANGE}`, { headers })
  request.on('error', () => undefined)
  const answered = once(request, 'response')
  const before = ['tripRoom', 'tripFeatures', 'tripFeatures', 'tripFeatures']
  for (const [i, name] of before.entries()) {
    jobs.pass()
    await eventually(() => jobs.given.length > i, name)
  }
  await answered
  request.destroy()
  await eventually(() => removing.mock.callCount() > 0, 'the client is missed')
  jobs.release()
  await g.get(`/trips/cart-0?${RANGE}`, { key: user.key })
  assert.deepEqual(pluck(jobs.given, 'name'), [...before, 'trips'])
})

test('a user with hundreds of concurrent requests does not keep others from a response', async () => {
  jobs.hold()
  let answered = 0
  const greedy = Array.from({ length: 100 }, async () => {
    await g.get(`/trips?${RANGE}`)
    answered++
  })
  await eventually(() => jobs.given.length > 0, 'the first job')
  const modest = ['', '/active', '/summary'].map((end) =>
    g.get(`/trips/cart-0${end}?${end === '' ? RANGE : ''}`, { key: user.key }),
  )
  jobs.release()
  const statuses = (await Promise.all(modest)).map(({ status }) => status)
  assert.deepEqual(statuses, [200, 200, 200])
  assert.ok(answered < 10, `${answered} of the others came first`)
  await Promise.all(greedy)
})
