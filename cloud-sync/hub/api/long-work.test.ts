import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { z } from 'zod'
import { LONG_SUITE_KINDS } from '#hub/testing/databases.ts'
import { openHub, type TestHub } from '#hub/testing/open-hub.ts'
import { ADMIN_KEY, People } from '#hub/testing/people.ts'
import { reportedDevice } from '#hub/testing/reported.ts'
import type { SiteClient } from '#hub/testing/site-client.ts'
import { LongWork } from '#shared/testing/long-work.ts'
import { rebuiltSchema } from '#shared/wire/replication/rebuild.ts'
import { auditSchema, helloSchema, latestSchema, pushSchema } from '#shared/wire/replication/sync.ts'

/** Maximum wait of gateways, whatever another gateway or a user sends. */
const MOST_MS = 100
/** Bodies of up to 8 MB. */
const MOST_MS_OF_SYNC = 300

// PGlite does its work in this thread
const [kind] = LONG_SUITE_KINDS.filter(({ name }) => name !== 'PGlite')

let hub: TestHub
let people: People
let gateway: SiteClient
let work: LongWork
const existing: Record<string, string> = { sites: 'north', devices: 'cart-1', trips: 'cart-1' }

before(async () => {
  if (kind === undefined || kind.skip) return
  hub = await openHub(kind)
  people = new People(hub)
  await restore()
  const { body } = await people.request('GET', '/openapi.json', { key: null })
  work = new LongWork({
    document: { ...body, paths: { ...body.paths, ...syncPaths() } },
    existing,
    restore,
    mostMs: (name) => (name.includes('/sync/') ? MOST_MS_OF_SYNC : MOST_MS),
    send: async ({ method, path, headers, body: bytes }) => {
      const keys: Record<string, string> = path.startsWith('/sync/')
        ? { authorization: `Bearer ${gateway.key}` }
        : { 'x-api-key': ADMIN_KEY }
      const answer = await hub.hub.app.request(path, { method, headers: { ...keys, ...headers }, body: bytes })
      await answer.arrayBuffer()
      return answer.status
    },
  })
})

after(() => hub?.stop())

async function restore(): Promise<void> {
  const made = await people.request('POST', '/sites', { body: { site_id: 'north', name: 'North' } })
  if (made.status === 201) {
    gateway = hub.client('north', made.body.key)
    await gateway.hello()
    await gateway.latest({ devices: [reportedDevice('cart-1')] })
  }
  existing.users = (await people.createUser({ name: 'Victim' })).userId
}

/** Returns the requests of gateways, in the form of an API document. */
function syncPaths() {
  const bodies = {
    hello: helloSchema,
    push: pushSchema,
    latest: latestSchema,
    audit: auditSchema,
    rebuild: rebuiltSchema,
  }
  return Object.fromEntries(
    Object.entries(bodies).map(([name, schema]) => {
      const content = { 'application/json': { schema: withSamples(z.toJSONSchema(schema, { io: 'input' })) } }
      return [
        `/sync/v1/${name}`,
        { post: { operationId: name, parameters: [], requestBody: { required: true, content } } },
      ]
    }),
  )
}

/** Returns a schema whose texts with a pattern are those that the gateway sends. */
function withSamples(schema: unknown, name = ''): unknown {
  const samples: Record<string, string> = {
    site: 'north',
    epoch: gateway.epoch,
    instance: gateway.instance,
    encoding: 'rows-1',
    hash: '0'.repeat(64),
    prev_hash: '0'.repeat(64),
    sum: '0'.repeat(16),
  }
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map((one) => withSamples(one))
  if ('type' in schema && schema.type === 'string' && samples[name] !== undefined) return { const: samples[name] }
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, withSamples(value, key)]))
}

test('no body blocks the hub for long, however large and strange', {
  skip: kind?.skip ?? 'no PostgreSQL',
}, async () => {
  assert.ok((await work.checkBodies()) > 100)
})

test('no query blocks the hub for long', { skip: kind?.skip ?? 'no PostgreSQL' }, async () => {
  assert.ok((await work.checkQueries()) > 50)
})

test('a long list of wrong items reports its first error, and a body of too many parts is rejected', {
  skip: kind?.skip ?? 'no PostgreSQL',
}, async () => {
  const site = await hub.site()
  const { epoch, instance } = site
  for (const [path, field] of [
    ['/push', 'parts'],
    ['/latest', 'devices'],
    ['/audit', 'groups'],
  ] as const) {
    const few = await site.request('POST', path, { epoch, instance, [field]: Array(90_000).fill(0) })
    const named = few.body.errors.filter(({ name }: { name: string }) => name.startsWith(field))
    assert.equal(few.status, 400)
    const names = named.map(({ name }: { name: string }) => name)
    assert.deepEqual(names, [`${field}[0]`], path)
    const manyKeys = Object.fromEntries(Array.from({ length: 30_001 }, (_, i) => [`k${i}`, i]))
    for (const parts of [Array(450_000).fill(0), [manyKeys]]) {
      const many = await site.request('POST', path, { epoch, instance, [field]: parts })
      assert.equal(many.body.code, 'too_complex', path)
    }
  }
})
