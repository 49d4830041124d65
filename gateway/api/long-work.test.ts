import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { OpenApiDocument } from '#shared/http/openapi.ts'
import { LongWork, type Measured } from '#shared/testing/long-work.ts'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'

/** Set CARTBARN_TEST_LONG=1 for every one of them, and CARTBARN_TEST_SHOW=1 for a table of the slowest. */
const STRIDE = process.env.CARTBARN_TEST_LONG === undefined ? 17 : 1

/** Devices wait for as long at most, whatever is sent. */
const MOST_MS = 100
/** Bodies of several megabytes. */
const MOST_MS_OF: Record<string, number> = { 'PUT /course': 250, 'PUT /course/photo': 250 }

const existing: Record<string, string> = {
  devices: 'cart-1',
  clients: 'cart-1',
  trips: 'cart-1',
  groups: '1',
  geofences: '1',
  carts: '7',
}

let gateway: TestGateway
let work: LongWork

before(async () => {
  gateway = await startGateway({ CARTBARN_USER_DOWNLOADS: '1000' })
  await restore()
  const { body } = await gateway.request('GET', '/openapi.json', { key: null })
  work = new LongWork({
    // it was made as one
    document: body as OpenApiDocument,
    existing,
    stride: STRIDE,
    mostMs,
    send: async ({ method, path, headers, body: bytes }) => {
      const sent = { 'x-api-key': ADMIN_KEY, 'if-match': '*', ...headers }
      const answer = await gateway.app.request(path, { method, headers: sent, body: bytes })
      await answer.arrayBuffer()
      return answer.status
    },
  })
})

after(() => gateway.stop())

/** Makes again what a request may have deleted, so that the next ones find something. */
async function restore(): Promise<void> {
  await make('/devices', '/devices/cart-1', { hardware_id: 'cart-1', device_type: 'teebox', cart: '7' })
  for (const groupId of [1, 2, 3])
    await make('/groups', `/groups/${groupId}`, { name: `Walkers ${groupId}`, group_id: groupId })
  await gateway.request('PUT', '/groups/1/devices/cart-1')
}

async function make(collection: string, path: string, body: object): Promise<void> {
  if ((await gateway.request('GET', path)).status === 404) await gateway.request('POST', collection, { body })
}

function mostMs(name: string): number {
  return MOST_MS_OF[name] ?? MOST_MS
}

/** Fails where others had to wait for too long, or where the gateway failed. */
async function check(
  measurements: (target: ReturnType<LongWork['targets']>[number]) => AsyncGenerator<Measured>,
) {
  const all: Measured[] = []
  for (const target of work.targets()) {
    await restore()
    for await (const measured of measurements(target)) all.push(measured)
  }
  if (process.env.CARTBARN_TEST_SHOW !== undefined) show(all)
  const describe = ({ name, what, characters, status, ms }: Measured) =>
    `${name}: ${what.slice(0, 60)}, ${characters} characters: ${Math.round(ms)} ms, ${status}`
  assert.deepEqual(all.filter(({ name, ms }) => ms > mostMs(name)).map(describe), [])
  assert.deepEqual(all.filter(({ status }) => status >= 500 && status !== 503).map(describe), [])
  return all.length
}

function show(all: readonly Measured[]): void {
  const slowest = all.toSorted((a, b) => b.ms - a.ms).slice(0, 40)
  for (const { name, what, characters, status, ms } of slowest)
    console.log(`${Math.round(ms)}\t${status}\t${name}\t${what.slice(0, 60)}\t${characters}`)
}

test('no body stops the main thread for long, however large and strange', async () => {
  assert.ok((await check((target) => work.bodies(target))) > 200)
})

test('nor does any query', async () => {
  assert.ok((await check((target) => work.queries(target))) > 200)
})
