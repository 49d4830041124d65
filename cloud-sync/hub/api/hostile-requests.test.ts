import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { ADMIN_KEY } from '#hub/testing/people.ts'
import { reportedDevice } from '#hub/testing/reported.ts'
import { hubScene } from '#hub/testing/scene.ts'
import { DocumentedAnswers } from '#shared/testing/documented-answers.ts'
import { type HostileRequest, HostileRequests, type Target } from '#shared/testing/hostile-requests.ts'

/** Set CARTBARN_TEST_LONG=1 to test all faults singly. */
const STRIDE = process.env.CARTBARN_TEST_LONG !== undefined ? 1 : 29

const TABLES = ['site', 'site_key', 'intent', 'quarantine', 'hub_user', 'entity', 'event', 'segment', 'site_epoch']

const { hub, people } = hubScene()
let documented: DocumentedAnswers
let requests: HostileRequests
let viewer: string
/** Existing ids, by the word before them in a path. */
const existing: Record<string, string> = { sites: 'north', devices: 'cart-1', trips: 'cart-1' }

before(async () => {
  const body = await people.get('/openapi.json', { key: null })
  documented = new DocumentedAnswers(body)
  requests = new HostileRequests(body, existing)
  await restore()
  viewer = (await people.createUser({ role: 'viewer', site_ids: ['north'] })).key
})

/** Recreates objects that a request may rightly have deleted, so that the next ones find them. */
async function restore(): Promise<void> {
  const made = await people.request('POST', '/sites', { body: { site_id: 'north', name: 'North' } })
  if (made.status === 201) {
    const gateway = hub.client('north', made.body.key)
    await gateway.hello()
    await gateway.latest({ devices: [reportedDevice('cart-1')] })
    await gateway.pushPoison('poison')
  }
  const intent = { kind: 'resend', body: {} }
  const { body } = await people.request('POST', '/sites/north/intents', { body: intent })
  existing.intents = body.intent_id
  existing.users = (await people.createUser({ name: 'Victim' })).userId
}

async function stored(): Promise<unknown> {
  const rows = []
  for (const table of TABLES) {
    const found = await hub.hub.database.all<object>(`SELECT * FROM ${table} ORDER BY 1, 2`)
    // the hub itself counts the rows of each site from time to time
    rows.push(found.map((row) => ({ ...row, counted_at_ms: null, counted_bytes: null })))
  }
  return rows
}

async function send(request: HostileRequest, target: Target, key: string): Promise<void> {
  const { what, method, path, body, headers = {}, isForbidden = false } = request
  const place = `${method} ${path.slice(0, 200)} (${what})`
  const before = await stored()
  const { status } = await people.request(method, path, { key, body, headers })
  assert.notEqual(status, 500, place)
  const isTarget = documented.operationOf(method, path)?.operationId === target.operation.operationId
  if (isTarget && isForbidden && key === ADMIN_KEY)
    assert.ok(status >= 400, `${place}: ${status}, though the document does not allow it`)
  if (status >= 400 || method === 'GET' || key === viewer)
    assert.deepEqual(await stored(), before, `${place} has changed what is stored`)
}

test('whatever is wrong with a request, it is refused as documented and nothing is stored', async () => {
  let made = 0
  let sent = 0
  for (const target of requests.targets()) {
    await restore()
    for (const request of requests.systematic(target)) {
      made++
      if (made % STRIDE !== 0) continue
      sent++
      await send(request, target, sent % 8 === 0 ? viewer : ADMIN_KEY)
    }
  }
  assert.ok(sent > 100, `${sent} requests`)
})
