import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { OpenApiDocument } from '#shared/http/openapi.ts'
import type { DocumentedAnswers } from '#shared/testing/documented-answers.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { type HostileRequest, HostileRequests, type Target } from '#shared/testing/hostile-requests.ts'
import { EXISTING } from '#testing/existing-ids.ts'
import { publish, scene } from '#testing/scene.ts'
import { ADMIN_KEY } from '#testing/start-gateway.ts'
import { StoredContent } from '#testing/stored-content.ts'

/** Set CARTBARN_TEST_LONG=1 to send every single-fault request, and more combinations. */
const IS_LONG = process.env.CARTBARN_TEST_LONG !== undefined
const RANDOM_REQUESTS = IS_LONG ? 500 : 10
/** Sampling interval of the systematic requests. */
const STRIDE = IS_LONG ? 1 : 11
type Who = 'admin' | 'user' | 'nobody'
// a permitted command must not expire while another request is checked
const { g: gateway } = scene()
let documented: DocumentedAnswers
let stored: StoredContent
let requests: HostileRequests
let keys: Record<Who, string | null>
/** Ids of existing objects, keyed by the preceding word of a path. */
const existing: Record<string, string> = { ...EXISTING }

before(async () => {
  documented = await gateway.documented()
  const { key } = await gateway.createUser({ allowed_hardware_ids: ['cart-1'] })
  keys = { admin: ADMIN_KEY, user: key, nobody: null }
  const client = await gateway.device('cart-1')
  await publish(client, 'dev/cart-1/tlm', '{"lat":28.4,"long":-81.5,"battery_voltage":50}')
  const { body } = await gateway.get('/openapi.json', { key: null })
  // the gateway builds it as one
  requests = new HostileRequests(body as OpenApiDocument, existing)
  stored = new StoredContent(gateway.config.dataDir)
})

after(() => stored.close())

/** Recreates objects that a request may have legitimately deleted, so that the next ones exist. */
async function restore(): Promise<void> {
  await makeIfMissing('/devices/cart-1', '/devices', { hardware_id: 'cart-1', device_type: 'teebox' })
  await makeIfMissing('/groups/1', '/groups', { name: 'Walkers', group_id: 1 })
  const user = await makeIfMissing(`/users/${existing.users ?? 'nobody'}`, '/users', { name: 'Victim' })
  if (user !== undefined) existing.users = user.user.user_id
  const command = { command: 'lock' }
  const sent = await makeIfMissing(`/commands/${existing.commands ?? 'none'}`, '/devices/cart-1/commands', command)
  if (sent !== undefined) existing.commands = sent.command_id
}

async function makeIfMissing(path: string, collection: string, body: object) {
  if (documented.operationOf('POST', collection) === undefined) return undefined
  if ((await gateway.get(path)).status !== 404) return undefined
  return (await gateway.post(collection, body)).body
}

/** Sends a request; `TestGateway.request` checks that the response is documented. */
async function send(request: HostileRequest, target: Target, who: Who): Promise<void> {
  const { what, method, path, body, headers = {}, isForbidden = false } = request
  const place = `${who}: ${method} ${path.slice(0, 200)} (${what})`
  const before = stored.read()
  const { status } = await gateway.request(method, path, { key: keys[who], body, headers })
  assert.notEqual(status, 500, place)
  const operation = documented.operationOf(method, path)
  if (operation?.operationId === target.operation.operationId) {
    const isForAdmins = operation.security.some(({ ApiKeyAuth }) => ApiKeyAuth?.includes('admin'))
    if (who === 'nobody' && operation.security.length > 0) assert.equal(status, 401, place)
    if (who === 'user' && isForAdmins) assert.equal(status, 403, place)
    if (who === 'admin' && isForbidden)
      assert.ok(status >= 400, `${place}: ${status}, though the document does not allow it`)
  }
  const isRefused = status >= 400
  if (isRefused || method === 'GET') assert.deepEqual(stored.read(), before, `${place} has changed what is stored`)
  else await eventually(() => stored.read().telemetry_deletion === '[]', 'the end of a deletion')
}

test('a request with any one fault is rejected as documented and nothing is stored', async () => {
  let made = 0
  let sent = 0
  for (const target of requests.targets()) {
    await restore()
    for (const request of requests.systematic(target)) {
      made++
      if (made % STRIDE === 0) await send(request, target, 'admin')
      if (made % (8 * STRIDE) === 0) await send(request, target, made % (16 * STRIDE) === 0 ? 'user' : 'nobody')
      if (made % STRIDE === 0) sent++
    }
  }
  assert.ok(sent > 500, `${sent} requests`)
})

test('a request with any mixture of faults is rejected as documented', async () => {
  for (const target of requests.targets()) {
    await restore()
    const caller = fc.constantFrom<Who>('admin', 'admin', 'user', 'nobody')
    await fc.assert(
      fc.asyncProperty(requests.random(target), caller, (request, who) => send(request, target, who)),
      { numRuns: RANDOM_REQUESTS },
    )
  }
})

test('after these requests the memory of the gateway matches its store', async () => {
  const check = async () => {
    const { devices } = (await gateway.get('/devices?limit=1000')).body
    const users: { usage?: unknown }[] = (await gateway.get('/users')).body
    return { devices, users: users.map(({ usage: _, ...user }) => user) }
  }
  await gateway.closeClients()
  const before = await check()
  await gateway.restart()
  const afterwards = await check()
  // compared one by one: the diff of thousands of users would be unreadable
  for (const [i, user] of before.users.entries()) assert.deepEqual(afterwards.users[i], user)
  for (const [i, device] of before.devices.entries()) assert.deepEqual(afterwards.devices[i], device)
  assert.deepEqual([afterwards.users.length, afterwards.devices.length], [before.users.length, before.devices.length])
})
