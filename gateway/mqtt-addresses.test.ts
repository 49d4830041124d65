import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGateway } from '#testing/start-gateway.ts'

test('the gateway lists the addresses and ports at which devices reach its broker', async (t) => {
  const local = await startGateway()
  t.after(() => local.stop())
  assert.deepEqual((await local.request('GET', '/mqtt/addresses')).body.addresses, [local.mqtt])
})

test('a gateway that listens everywhere lists no loopback address if it has another one', async (t) => {
  const g = await startGateway({ CARTBARN_HOST: '0.0.0.0' })
  t.after(() => g.stop())
  const { body } = await g.request('GET', '/mqtt/addresses')
  const port = new URL(g.mqtt).port
  for (const address of body.addresses) assert.match(address, new RegExp(`^mqtt://[0-9.]+:${port}$`))
  const others = body.addresses.filter((address: string) => !address.includes('//127.'))
  assert.ok(others.length === body.addresses.length || body.addresses.length === 1, `${body.addresses}`)
})
