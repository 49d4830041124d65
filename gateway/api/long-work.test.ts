import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { OpenApiDocument } from '#shared/http/openapi.ts'
import { LongWork } from '#shared/testing/long-work.ts'
import { EXISTING } from '#testing/existing-ids.ts'
import { scene } from '#testing/scene.ts'
import { ADMIN_KEY } from '#testing/start-gateway.ts'

/** Longest time that devices may wait, whatever is sent. */
const MOST_MS = 100
/** Limits for bodies of several megabytes. */
const MOST_MS_OF: Record<string, number> = { 'PUT /course': 250, 'PUT /course/photo': 250 }
const { g: gateway } = scene({ settings: { CARTBARN_USER_DOWNLOADS: '1000' }, isRealTime: true })
let work: LongWork

before(async () => {
  await restore()
  const { body } = await gateway.get('/openapi.json', { key: null })
  work = new LongWork({
    // the gateway builds it as one
    document: body as OpenApiDocument,
    existing: { ...EXISTING, carts: '7' },
    restore,
    mostMs: (name) => MOST_MS_OF[name] ?? MOST_MS,
    send: async ({ method, path, headers, body: bytes }) => {
      const sent = { 'x-api-key': ADMIN_KEY, 'if-match': '*', ...headers }
      const answer = await gateway.app.request(path, { method, headers: sent, body: bytes })
      await answer.arrayBuffer()
      return answer.status
    },
  })
})

async function restore(): Promise<void> {
  await make('/devices', '/devices/cart-1', { hardware_id: 'cart-1', device_type: 'teebox', cart: '7' })
  for (const groupId of [1, 2, 3])
    await make('/groups', `/groups/${groupId}`, { name: `Walkers ${groupId}`, group_id: groupId })
  await gateway.put('/groups/1/devices/cart-1')
}

async function make(collection: string, path: string, body: object): Promise<void> {
  if ((await gateway.get(path)).status === 404) await gateway.post(collection, body)
}

test('no body blocks the main thread for long, however large or strange', async () =>
  assert.ok((await work.checkBodies()) > 200))

test('no query blocks the main thread for long', async () => assert.ok((await work.checkQueries()) > 200))
