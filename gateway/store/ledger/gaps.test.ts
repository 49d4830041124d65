import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { gapSchema } from '#shared/wire/replication/sync.ts'
import { appendToLog, openTables, registerDevice } from '#testing/telemetry-tables.ts'
import { acknowledge } from '../replication/acknowledge.ts'
import { quarantineLogRow } from '../telemetry/log-row.ts'
import { claimSite } from './cursors.ts'
import { Gaps } from './gaps.ts'

const { connection, close } = openTables()
after(close)
beforeEach(() => {
  for (const table of ['telemetry_log', 'device', 'note', 'sync_cursor', 'damaged_block'])
    connection.run(`DELETE FROM ${table}`)
  connection.run('UPDATE sync_identity SET site = NULL')
})

function notedGaps() {
  const notes = connection.all<{ kind: string; atMs: number; body: string }>(
    'SELECT kind, at_ms AS atMs, body FROM note ORDER BY seq',
  )
  return notes.map(({ kind, atMs, body }) => {
    assert.equal(kind, 'gap')
    const { from_ms, to_ms, ...rest } = gapSchema.parse(JSON.parse(body))
    return { ...rest, range: [from_ms, to_ms], atMs }
  })
}

function lose(nowMs: number, ...lost: [deviceId: number, firstMs: number, lastMs: number][]): void {
  const gaps = new Gaps(connection)
  for (const [deviceId, firstMs, lastMs] of lost) gaps.add({ deviceId, stream: 'gps', firstMs, lastMs, count: 10 })
  gaps.write('purge', nowMs)
}

test('each transaction writes one gap note per stream, and none if it removes no records', () => {
  registerDevice(connection, 1)
  registerDevice(connection, 2)
  lose(5)
  assert.deepEqual(notedGaps(), [])
  const gaps = new Gaps(connection)
  gaps.add({ deviceId: 2, stream: 'gps', firstMs: 50, lastMs: 60, count: 4 })
  gaps.add({ deviceId: 1, stream: 'battery', firstMs: 10, lastMs: 20, count: 5 })
  gaps.add({ deviceId: 1, stream: 'gps', firstMs: 30, lastMs: 55, count: 6 })
  gaps.write('disk', 7)
  assert.deepEqual(notedGaps(), [
    {
      stream: 'gps',
      range: [30, 60],
      count: 10,
      hardware_ids: ['cart-1', 'cart-2'],
      reason: 'disk',
      atMs: 7,
    },
    { stream: 'battery', range: [10, 20], count: 5, hardware_ids: ['cart-1'], reason: 'disk', atMs: 7 },
  ])
})

test('remaining records of a deleted device are not a gap', () => {
  lose(5, [9, 1, 2])
  assert.deepEqual(notedGaps(), [])
})

test('a gap names at most a hundred devices', () => {
  for (let id = 1; id <= 150; id++) registerDevice(connection, id)
  lose(5, ...Array.from({ length: 150 }, (_, i) => [i + 1, 1, 2] as [number, number, number]))
  const [gap] = notedGaps()
  assert.deepEqual([gap?.hardware_ids.length, gap?.count], [100, 1500])
})

test('a gap grows until something was sent; then each loss is a separate note', () => {
  registerDevice(connection, 1)
  registerDevice(connection, 2)
  lose(5, [1, 10, 20])
  lose(6, [2, 5, 8])
  assert.deepEqual(notedGaps(), [
    {
      stream: 'gps',
      range: [5, 20],
      count: 20,
      hardware_ids: ['cart-1', 'cart-2'],
      reason: 'purge',
      atMs: 6,
    },
  ])
  claimSite(connection, { site: 'links' })
  lose(7, [1, 30, 40])
  assert.deepEqual(
    notedGaps().map(({ range }) => range),
    [
      [5, 20],
      [30, 40],
    ],
  )
})

test('a damaged log row is a gap of its maximum number of records, unless it was acknowledged', () => {
  registerDevice(connection, 1)
  const damagedRow = () => {
    const samples = [1, 2, 3].map((n) => ({ deviceId: 1, atMs: n, streams: 'both', value: n }) as const)
    const firstSeq = appendToLog(connection, samples)
    connection.run('UPDATE telemetry_log SET samples = zeroblob(length(samples)) WHERE first_seq = ?', firstSeq)
    return firstSeq
  }
  const unsent = damagedRow()
  acknowledge(connection, { cursors: { telemetry: { seq: unsent + 1, hash: '' } } })
  assert.equal(quarantineLogRow(connection, { firstSeq: unsent, nowMs: 1000 }), true)
  const gap = { range: [0, 1000], count: 3, hardware_ids: [], reason: 'damage', atMs: 1000 }
  assert.deepEqual(notedGaps(), [
    { stream: 'gps', ...gap },
    { stream: 'battery', ...gap },
  ])
  connection.run('DELETE FROM note')
  const sent = damagedRow()
  acknowledge(connection, { cursors: { telemetry: { seq: sent + 2, hash: '' } } })
  assert.equal(quarantineLogRow(connection, { firstSeq: sent, nowMs: 1000 }), true)
  assert.deepEqual(notedGaps(), [])
})
