import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { systemClock } from '#shared/time.ts'
import { fails, ok, publish, scene } from '#testing/scene.ts'
import { metric, type TestGateway } from '#testing/start-gateway.ts'

const SAMPLES = 60_000
const A_MESSAGE = 500
const START_MS = systemClock.nowMs() - 86_400_000
const { g } = scene({ isRealTime: true })
let cart: Awaited<ReturnType<TestGateway['device']>>

before(async () => {
  cart = await g.device('cart-1')
  const sent: Promise<unknown>[] = []
  for (let at = 0; at < SAMPLES; at += A_MESSAGE) {
    const samples = Array.from({ length: A_MESSAGE }, (_, i) => ({
      ts: START_MS + (at + i) * 1000,
      lat: 48 + (at + i) / 1e7,
      long: 11,
    }))
    sent.push(publish(cart, 'dev/cart-1/tlm', samples))
  }
  await Promise.all(sent)
})

const ALL = '/devices/cart-1/gps?from=2020-01-01&to=2099-01-01&order=asc'

/** Starts reading a history of some 10 MB. */
async function download(key: string, path = ALL) {
  const response = await fetch(g.http + path, { headers: { 'x-api-key': key } })
  assert.ok(response.body)
  const reader = response.body.getReader()
  let text = ''
  return {
    status: response.status,
    cancel: () => reader.cancel(),
    async readOn(chunks = Number.POSITIVE_INFINITY): Promise<string> {
      const decoder = new TextDecoder()
      for (let i = 0; i < chunks; i++) {
        const { done, value } = await reader.read()
        if (done) return text
        text += decoder.decode(value, { stream: true })
      }
      return text
    },
  }
}

for (const [how, revoke] of Object.entries({
  'a user that is deleted': (id: string) => g.remove(`/users/${id}`),
  'a key that is rotated': (id: string) => g.post(`/users/${id}/rotate-key`),
  'a user that is disabled': (id: string) => g.patch(`/users/${id}`, { is_active: false }),
  'a scope that is narrowed': (id: string) => g.patch(`/users/${id}`, { allowed_hardware_ids: [] }),
}))
  test(`the download of ${how} is aborted`, async () => {
    const { userId, key } = await g.createUser({ allowed_hardware_ids: ['cart-1'] })
    const cut = await download(key)
    await cut.readOn(1)
    assert.ok((await revoke(userId)).status < 300)
    let text = ''
    await assert.rejects(async () => {
      for (;;) text = await cut.readOn(1)
    }, /terminated/)
    // data already sent when the key is revoked still arrives
    assert.ok(text.length < 8_000_000, `${text.length} characters arrived`)
    assert.throws(() => JSON.parse(text))
  })

test('a download contains the data up to its request, however slowly it is read', async () => {
  const { key } = await g.createUser({ allowed_hardware_ids: ['cart-1'] })
  const slow = await download(key)
  await slow.readOn(1)
  const ts = systemClock.nowMs()
  await publish(cart, 'dev/cart-1/tlm', { ts, lat: 1, long: 1 })
  const records = JSON.parse(await slow.readOn())
  assert.equal(records.length, SAMPLES)
  const newest = (await g.get('/devices/cart-1/gps?limit=1')).body
  assert.equal(newest[0].lat, 1)
})

test('a user reads four long histories at a time; short ones and other users do not count', async () => {
  const { key } = await g.createUser({ allowed_hardware_ids: ['cart-1'] })
  const four = await Promise.all(Array.from({ length: 4 }, () => download(key)))
  await fails(g.get(ALL, { key }), 429, 'too_many_downloads')
  assert.equal(await metric(g, 'cartbarn_budget_refused_total', 'downloads'), 1)
  await ok(g.get('/devices/cart-1/gps?limit=200', { key }))
  const heads = (await g.createUser({ allowed_hardware_ids: ['cart-1'] })).key
  for (let i = 0; i < 5; i++) await ok(g.request('HEAD', ALL, { key: heads }))
  const other = await download((await g.createUser({ allowed_hardware_ids: ['cart-1'] })).key)
  assert.equal(other.status, 200)
  await Promise.all([four[0]?.readOn(), four[1]?.cancel(), other.cancel()])
  for (let i = 0; i < 2; i++) {
    const again = await download(key)
    assert.equal(again.status, 200)
    four.push(again)
  }
  await Promise.all(four.slice(2).map((each) => each.cancel()))
})
