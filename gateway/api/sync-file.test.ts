import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { partHash } from '#shared/sync-hash.ts'
import { decodeBlock } from '#shared/telemetry/block.ts'
import { decodeBlocks } from '#shared/telemetry/blocks.ts'
import { GPS } from '#shared/telemetry/records.ts'
import { decodeRuns } from '#shared/telemetry/runs.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { DAY_MS, toIso } from '#shared/time.ts'
import type { SyncCursors, SyncPart } from '#shared/wire/replication/sync.ts'
import {
  type SyncFileEnd,
  type SyncFileHead,
  syncFileEndSchema,
  syncFileHeadSchema,
  syncFileLineSchema,
} from '#shared/wire/replication/sync-file.ts'
import { fails, ok, scene } from '#testing/scene.ts'
import { ADMIN_KEY, startFor, type TestGateway } from '#testing/start-gateway.ts'

const SETTINGS = {
  // without a hub, as at a site without a network
  CARTBARN_UPSTREAM_URL: 'http://127.0.0.1:1',
  CARTBARN_UPSTREAM_KEY: `cbs_links_${'k'.repeat(43)}`,
  CARTBARN_SITE_ID: 'links',
}

const { g, onlyFor } = scene({ isRealTime: true, settings: SETTINGS, inScope: ['cart-1'] })
before(() => isReady(g))

async function isReady(gateway: TestGateway): Promise<void> {
  await eventually(async () => (await exported(gateway)).status === 200, 'the replication to be ready')
}

interface File {
  readonly head: SyncFileHead
  readonly parts: readonly SyncPart[]
  readonly devices: readonly string[]
  readonly end: SyncFileEnd
}

const exported = (gateway: TestGateway): Promise<Response> =>
  fetch(`${gateway.http}/sync/export`, { headers: { 'x-api-key': ADMIN_KEY } })

async function fileOf(gateway: TestGateway): Promise<File> {
  const answer = await exported(gateway)
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'application/gzip')
  assert.match(answer.headers.get('content-disposition') ?? '', /filename="cartbarn-links\.sync\.gz"/)
  const text = gunzipSync(await answer.arrayBuffer()).toString()
  assert.ok(text.endsWith('\n'))
  const lines = text.split('\n').slice(0, -1)
  const parsed = lines.map((line) => {
    assert.ok(line.length < 600_000, `a line of ${line.length} characters`)
    return syncFileLineSchema.parse(JSON.parse(line))
  })
  const parts = parsed.flatMap((line) => ('part' in line ? [line.part] : []))
  const devices = parsed.flatMap((line) => ('devices' in line ? line.devices : []))
  const [first, last] = [parsed[0], parsed.at(-1)]
  assert.ok(first !== undefined && 'head' in first && last !== undefined && 'end' in last)
  const file = {
    head: syncFileHeadSchema.parse(first.head),
    end: syncFileEndSchema.parse(last.end),
    devices: devices.map(({ hardware_id }) => String(hardware_id)),
    parts,
  }
  assertChained(file)
  return file
}

/**
 * Asserts that every batch continues where the previous one ended, from the acknowledged position to the end of the
 * file.
 */
function assertChained({ head, parts, end }: File): void {
  // each stream has one
  const at = structuredClone(head.cursors) as SyncCursors
  for (const part of parts) {
    assert.deepEqual([part.from, part.prev_hash], [at[part.stream].seq, at[part.stream].hash])
    assert.equal(partHash(part, Buffer.from(part.data, 'base64')), part.hash)
    at[part.stream] = { seq: part.to, hash: part.hash }
  }
  assert.deepEqual(at, end.cursors)
  assert.deepEqual([parts.length, rowsIn(parts)], [end.parts, end.rows])
}

function rowsIn(parts: readonly SyncPart[], ...streams: string[]): number {
  const counted = parts.filter(({ stream }) => streams.length === 0 || streams.includes(stream))
  return counted.reduce((sum, { count }) => sum + count, 0)
}

/** Returns device and time of each position. */
function recordsIn(parts: readonly SyncPart[]): Set<string> {
  const records = new Set<string>()
  const add = (hardwareId: string, times: Iterable<number>) => {
    for (const atMs of times) records.add(`${hardwareId} ${atMs}`)
  }
  for (const { encoding, data } of parts) {
    const bytes = Buffer.from(data, 'base64')
    if (encoding === 'runs-1') for (const run of decodeRuns(bytes)) add(run.hardwareId, run.records.atMs)
    if (encoding !== 'blocks-1') continue
    for (const { hardwareId, block, header } of decodeBlocks(bytes)) {
      const into = GPS.allocate(header.count)
      decodeBlock(GPS, block, into)
      add(hardwareId, into.atMs)
    }
  }
  return records
}

function receiptOf({ head, end }: File) {
  const { site, epoch } = head
  return { site, epoch, taken: end.parts, known: 0, rows: end.rows, cursors: end.cursors }
}

const give = (gateway: TestGateway, body: unknown) => gateway.post('/sync/receipts', body)

async function importFixes(gateway: TestGateway, hardwareId: string, count: number, fromMs = Date.now() - DAY_MS) {
  const gps = Array.from({ length: count }, (_, s) => ({
    timestamp: toIso(fromMs + s * 1000),
    speed: s % 20,
    lat: 28.41 + (s % 1000) / 100_000,
    long: -81.58 - (s % 777) / 100_000,
  }))
  for (let from = 0; from < count; from += 5000)
    await ok(gateway.post(`/devices/${hardwareId}/telemetry/import`, { gps: gps.slice(from, from + 5000) }))
}

onlyFor('admins', ['GET', '/sync/export'], ['POST', '/sync/receipts', {}])

test('a gateway without a head office has no file and rejects receipts', async (t) => {
  const alone = await startFor(t)
  await fails(alone.get('/sync/export'), 409, 'sync_not_configured')
  await fails(give(alone, receiptOf(await fileOf(g))), 409, 'sync_not_configured')
})

test('an invalid receipt is rejected', async () => {
  const receipt = receiptOf(await fileOf(g))
  for (const body of [{}, { ...receipt, more: 1 }, { ...receipt, cursors: {} }, { ...receipt, epoch: 'x' }]) {
    const { status } = await give(g, body)
    assert.equal(status, 400, JSON.stringify(body))
  }
})

test('a file carries all unacknowledged data until its receipt arrives', async () => {
  await g.register('carried-1')
  await importFixes(g, 'carried-1', 500)
  const file = await fileOf(g)
  assert.equal(file.head.site, 'links')
  assert.ok(file.devices.includes('carried-1'))
  assert.equal(rowsIn(file.parts, 'telemetry', 'history'), 500)
  const again = await fileOf(g)
  assert.deepEqual(again.end, file.end, 'until there is a receipt')

  // data arrives while the file travels to the hub and back
  await g.register('carried-2')
  await importFixes(g, 'carried-2', 30)
  const receipt = receiptOf(file)
  for (let times = 0; times < 2; times++) assert.deepEqual(await ok(give(g, receipt)), { success: true })
  const next = await fileOf(g)
  assert.deepEqual(next.head.cursors, file.end.cursors)
  assert.equal(rowsIn(next.parts, 'telemetry', 'history'), 30)
  assert.ok(rowsIn(next.parts, 'entities') >= 1)

  const { body } = await g.get('/sync/status')
  const telemetry = body.details.streams.find(({ stream }: { stream: string }) => stream === 'telemetry')
  assert.equal(telemetry.acked_seq, file.end.cursors.telemetry?.seq)
})

test('a receipt of an unknown file is rejected and changes nothing', async () => {
  await importFixes(g, 'carried-1', 5, Date.now() - 2 * DAY_MS)
  const file = await fileOf(g)
  const receipt = receiptOf(file)
  const { telemetry } = receipt.cursors
  for (const other of [
    { ...receipt, epoch: 'a'.repeat(32) },
    { ...receipt, site: 'pebble' },
    { ...receipt, cursors: { ...receipt.cursors, telemetry: { ...telemetry, hash: 'b'.repeat(64) } } },
    { ...receipt, cursors: { ...receipt.cursors, notes: { seq: 999, hash: 'c'.repeat(64) } } },
  ])
    await fails(give(g, other), 409, 'unknown_receipt')
  assert.deepEqual((await fileOf(g)).head.cursors, file.head.cursors)
  await ok(give(g, receipt))
})

test('a receipt is accepted after a restart', async () => {
  await importFixes(g, 'carried-1', 7, Date.now() - 3 * DAY_MS)
  const file = await fileOf(g)
  await g.restart()
  await isReady(g)
  await ok(give(g, receiptOf(file)))
  assert.deepEqual((await fileOf(g)).head.cursors, file.end.cursors)
})

test('a file that is not read to its end is dropped, and the next one is complete', async () => {
  await importFixes(g, 'carried-1', 5_000, Date.now() - 4 * DAY_MS)
  for (let n = 0; n < 20; n++) {
    const controller = new AbortController()
    const answer = await fetch(`${g.http}/sync/export`, {
      headers: { 'x-api-key': ADMIN_KEY },
      signal: controller.signal,
    })
    if (n % 2 === 0) await answer.body?.getReader().read()
    controller.abort()
  }
  assert.ok(rowsIn((await fileOf(g)).parts, 'telemetry', 'history') >= 5_000)
  await ok(g.get('/devices/carried-1/gps?limit=1'))
})

test('data that arrives while a file is written is in it or in the next', async () => {
  const known = await fileOf(g)
  await ok(give(g, receiptOf(known)))
  let isWriting = true
  let sent = 0
  const arriving = (async () => {
    for (let n = 0; isWriting; n++) {
      await importFixes(g, 'carried-2', 20, Date.now() - 5 * DAY_MS - n * 60_000)
      sent += 20
    }
  })()
  const files: File[] = []
  for (let n = 0; n < 5; n++) {
    const file = await fileOf(g)
    files.push(file)
    await ok(give(g, receiptOf(file)))
  }
  isWriting = false
  await arriving
  files.push(await fileOf(g))
  assert.equal(
    files.reduce((sum, { parts }) => sum + rowsIn(parts, 'telemetry', 'history'), 0),
    sent,
  )
})

test('a database of another site exports no file and rejects receipts', async (t) => {
  const file = await fileOf(g)
  await g.restart(() => Object.assign(g.config, { upstream: { ...g.config.upstream, siteId: 'pebble' } }))
  t.after(() => g.restart(() => Object.assign(g.config, { upstream: { ...g.config.upstream, siteId: 'links' } })))
  await eventually(async () => (await g.get('/sync/export')).body.code === 'other_site', 'the refusal of the file')
  await fails(give(g, receiptOf(file)), 409, 'other_site')
})

test('a file of 300,000 records is streamed and complete', async (t) => {
  const big = await startFor(t, SETTINGS)

  for (let n = 0; n < 30; n++) {
    await big.register(`big-${n}`)
    await importFixes(big, `big-${n}`, 10_000)
  }
  await isReady(big)
  const file = await fileOf(big)
  // records sealed meanwhile may be in both streams, which is harmless
  assert.equal(recordsIn(file.parts).size, 300_000)
  for (const { data } of file.parts) assert.ok(data.length <= 400_000)
})
