import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Answer, startGateway, type TestGateway } from './start-gateway.ts'

let gateway: TestGateway

before(async () => {
  gateway = await startGateway()
  await gateway.register('cart-1')
})

after(() => gateway.stop())

/** Checks a real response after `change` has altered it. */
async function checkChanged(path: string, change: (answer: Answer) => void, method = 'GET'): Promise<void> {
  const answer = await gateway.request(method, path)
  const changed = structuredClone({ status: answer.status, body: answer.body })
  const headers = new Headers(answer.headers)
  const candidate = { ...changed, headers }
  change(candidate)
  const documented = await gateway.documented()
  documented.check(method, path, candidate)
}

test('what the gateway really answers is documented', async () => {
  await checkChanged('/devices/cart-1', () => undefined)
  await checkChanged('/devices/nowhere', () => undefined)
  await checkChanged('/devices', () => undefined, 'HEAD')
})

const CHANGES: [what: string, path: string, change: (answer: Answer) => void, message: RegExp][] = [
  ['another status', '/devices/cart-1', (a) => Object.assign(a, { status: 202 }), /202 is not documented/],
  ['a field too many', '/devices/cart-1', ({ body }) => Object.assign(body, { secret: 1 }), /secret/],
  ['a field too many, deep inside', '/devices', ({ body }) => Object.assign(body.devices[0], { x: 1 }), /"x"/],
  ['a field that is missing', '/devices/cart-1', ({ body }) => delete body.is_online, /is_online/],
  ['a field of another type', '/devices/cart-1', ({ body }) => Object.assign(body, { name: 5 }), /name/],
  ['no request id', '/devices', ({ headers }) => headers.delete('x-request-id'), /X-Request-Id/],
  ['another content type', '/devices', ({ headers }) => headers.set('content-type', 'text/html'), /text\/html/],
  ['an unknown code', '/devices/nowhere', ({ body }) => Object.assign(body, { code: 'new' }), /error-codes/],
  [
    'a code of another status',
    '/devices/nowhere',
    ({ body }) => Object.assign(body, { code: 'last_admin' }),
    /last_admin/,
  ],
  ['success where nothing is', '/nowhere', (a) => Object.assign(a, { status: 200 }), /no such operation/],
]
for (const [what, path, change, message] of CHANGES) {
  test(`${what} is not taken for a documented answer`, async () => {
    await assert.rejects(checkChanged(path, change), message)
  })
}

test('words in a path go before parameters', async () => {
  const documented = await gateway.documented()
  assert.equal(documented.operationOf('GET', '/devices/x/gps/latest?a=/b')?.operationId, 'getDeviceGpsLatest')
  assert.equal(documented.operationOf('GET', '/devices/')?.operationId, 'listDevices')
  assert.equal(documented.operationOf('HEAD', '/devices/x')?.operationId, 'getDevice')
  assert.equal(documented.operationOf('POST', '/devices/x'), undefined)
})
