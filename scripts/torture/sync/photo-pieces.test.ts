import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { DATABASE_KINDS } from '#hub/testing/databases.ts'
import { openHub } from '#hub/testing/open-hub.ts'
import { ADMIN_KEY as HUB_ADMIN_KEY } from '#hub/testing/people.ts'
import { FaultyFront, type FrontFault } from '#scripts/testing/faulty-front.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { png } from '#shared/testing/images.ts'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'

const PIECE_BYTES = 49_152
const CORNERS = '51.2,7.1;51.2,7.2;51.1,7.2;51.1,7.1'
const PATIENCE_MS = 120_000
/** Faults of the pushes, in rotation. */
const FAULTS: readonly FrontFault[] = ['pass', 'cut_after', 'pass', 'cut_before', 'pass']

const [PGLITE] = DATABASE_KINDS

/** A gateway and its hub, connected by a line that is cut before and after requests. */
async function open(t: TestContext) {
  assert.ok(PGLITE !== undefined)
  const { hub } = await openHub(PGLITE)
  t.after(() => hub.stop())
  const { siteId, key } = await hub.sites.add('Old Course')
  const front = new FaultyFront(hub.url())
  await front.start()
  t.after(() => front.stop())
  const g = await startGateway({
    CARTBARN_UPSTREAM_URL: front.url,
    CARTBARN_UPSTREAM_KEY: key,
    CARTBARN_SITE_ID: siteId,
    CARTBARN_UPSTREAM_HOLD_MS: '0',
    CARTBARN_UPSTREAM_RETRY_S: '1',
  })
  t.after(() => g.stop())
  const piecesThere = async () => {
    const row = await hub.database.get<{ count: number }>(
      `SELECT COUNT(*) AS count FROM entity WHERE entity_table = 'course_piece' AND body IS NOT NULL`,
      [],
    )
    return Number(row?.count)
  }
  const photoThere = async () => {
    const url = `${hub.url()}/sites/${siteId}/course/photo`
    const answer = await fetch(url, { headers: { 'x-api-key': HUB_ADMIN_KEY } })
    return answer.status === 200 ? Buffer.from(await answer.arrayBuffer()) : null
  }
  return { g, front, piecesThere, photoThere }
}

async function place(g: TestGateway, weight: number): Promise<Buffer> {
  const { status, body } = await g.request('PUT', `/course/photo?corners=${CORNERS}`, {
    body: png({ weight }),
    headers: { 'content-type': 'image/png' },
  })
  assert.equal(status, 200, JSON.stringify(body))
  const photo = await g.app.request('/course/photo', { headers: { 'x-api-key': ADMIN_KEY } })
  return Buffer.from(await photo.arrayBuffer())
}

test('a photo arrives complete despite cuts between its chunks, and a newer one replaces it', async (t) => {
  const { g, front, piecesThere, photoThere } = await open(t)
  let pushes = 0
  front.faultOf = (path) => (path.endsWith('/push') ? (FAULTS[pushes++ % FAULTS.length] ?? 'pass') : 'pass')
  await place(g, PIECE_BYTES * 6)
  await eventually(async () => (await piecesThere()) >= 2, 'some pieces', PATIENCE_MS)
  await g.restart()
  const newer = await place(g, PIECE_BYTES * 3)
  await eventually(async () => newer.equals((await photoThere()) ?? Buffer.alloc(0)), 'the newer photo', PATIENCE_MS)
  await eventually(
    async () => (await piecesThere()) === Math.ceil(newer.length / PIECE_BYTES),
    'no others',
    PATIENCE_MS,
  )
  assert.ok(pushes > FAULTS.length, `${pushes} pushes`)
})
