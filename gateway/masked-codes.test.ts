import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { maskCode } from '#shared/masked-codes.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

const CODES = ['04A1B2C3', '14A1B2C3', '0815', 'C3', '7', '?*[]', 'a*?', 'b*]', 'xy??']
let g: TestGateway
let masked: { userId: string; key: string }
let admin: { userId: string; key: string }

before(async () => {
  g = await startGateway()
  const cart = await g.device('A')
  const events = CODES.map((code, i) => ({ eid: `e${i}`, event: 'unlock', source: 'rfid', code }))
  await cart.publishAsync('dev/A/evt', JSON.stringify(events), { qos: 1 })
  masked = await g.createUser({ allowed_hardware_ids: ['A'], mask_codes: true })
  admin = await g.createUser({ role: 'admin', mask_codes: true })
})
after(() => g.stop())

async function codes(key: string, query = ''): Promise<string[]> {
  const { body } = await g.request('GET', `/lock-events${query}`, { key })
  return body.events.map(({ code }: { code: string }) => code).reverse()
}

describe('a user with masked codes', () => {
  test('sees the last two characters of longer codes, and an admin sees all', async () => {
    const shown = ['******C3', '******C3', '**15', '**', '*', '**[]', '**?', '**]', '**??']
    assert.deepEqual(await codes(masked.key), shown)
    assert.deepEqual(await codes(admin.key), CODES)
  })

  test('finds codes by their masked form, and cannot guess codes', async () => {
    const found = (code: string) => codes(masked.key, `?code=${encodeURIComponent(code)}`)
    for (const shown of new Set(CODES.map(maskCode))) {
      const same = CODES.map(maskCode).filter((code) => code === shown)
      assert.deepEqual(await found(shown), same, shown)
    }
    for (const guess of ['04A1B2C3', 'C3', '7', '0815', '*******C3', '']) assert.deepEqual(await found(guess), [])
    assert.deepEqual(await codes(admin.key, '?code=04A1B2C3'), ['04A1B2C3'])
  })

  test('receives masked codes on /realtime from the time the setting is on', async () => {
    const user = await g.createUser({ allowed_hardware_ids: ['R'] })
    const cart = await g.device('R')
    const [its, admins] = [await g.realtime(user.key), await g.realtime(admin.key)]
    for (const socket of [its, admins]) await socket.subscribe('R')
    const open = async (eid: string) => {
      const event = { eid, event: 'unlock', source: 'keypad', code: '123456' }
      await cart.publishAsync('dev/R/evt', JSON.stringify(event), { qos: 1 })
      return [await its.next('device_unlocked'), await admins.next('device_unlocked')].map(({ code }) => code)
    }
    assert.deepEqual(await open('1'), ['123456', '123456'])
    await g.request('PATCH', `/users/${user.userId}`, { body: { mask_codes: true } })
    assert.deepEqual(await open('2'), ['****56', '123456'])
  })

  test('does not read evt over MQTT, by its name or by a wildcard', async () => {
    const cart = await g.device('M')
    const user = await g.createUser({ allowed_hardware_ids: ['M'] })
    const reader = await g.program({}, user)
    const got: string[] = []
    reader.on('message', (topic) => topic.endsWith('/cfg') || got.push(topic))
    await reader.subscribeAsync(['dev/M/#', 'dev/+/evt', 'dev/M/evt'], { qos: 1 })
    const report = async () => {
      const event = { event: 'unlock', source: 'keypad', code: '123456' }
      await cart.publishAsync('dev/M/evt', JSON.stringify(event), { qos: 1 })
      await cart.publishAsync('dev/M/st', '{"online":true}', { qos: 1 })
      while (got.at(-1) !== 'dev/M/st') await new Promise((resolve) => reader.once('message', resolve))
      return new Set(got.splice(0))
    }
    assert.deepEqual(await report(), new Set(['dev/M/evt', 'dev/M/st']))
    await g.request('PATCH', `/users/${user.userId}`, { body: { mask_codes: true } })
    assert.deepEqual(await report(), new Set(['dev/M/st']))
    for (const filter of ['dev/M/evt', 'dev/+/evt', 'dev/M/evt/#'])
      await assert.rejects(reader.subscribeAsync(filter), filter)
  })
})

test('mask_codes is false by default, is shown in the user, and cannot be null', async () => {
  const { userId } = await g.createUser({})
  const path = `/users/${userId}`
  assert.equal((await g.request('GET', path)).body.mask_codes, false)
  assert.equal((await g.request('PATCH', path, { body: { mask_codes: true } })).body.mask_codes, true)
  assert.equal((await g.request('PATCH', path, { body: { name: 'Other' } })).body.mask_codes, true)
  assert.equal((await g.request('PATCH', path, { body: { mask_codes: null } })).status, 400)
})
