import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createRandom } from '#shared/random.ts'
import { BlockTable } from '#testing/block-table.ts'
import { ReaderTools } from '../telemetry/reader-tools.ts'
import { readStoredMonths } from './stored-months.ts'

test('the size of a month is exact over all devices and streams while all its blocks are counted', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-months-'))
  const table = new BlockTable(join(folder, 'cartbarn.db'))
  t.after(() => {
    table.close()
    rmSync(folder, { recursive: true })
  })
  const tools = new ReaderTools(table.connection)
  assert.deepEqual(readStoredMonths(tools, {}), [])
  const add = (deviceId: number, stream: 'gps' | 'battery', fromMs: number, bytes: number) =>
    table.addBytes({ deviceId, stream, firstMs: fromMs, lastMs: fromMs, count: 1 }, new Uint8Array(bytes))
  const [one, two] = [table.newDevice(), table.newDevice()]
  const may = Date.UTC(2026, 4, 1)
  add(one, 'gps', may, 4_000)
  add(two, 'gps', may, 2_000)
  add(two, 'battery', may + 30 * 86_400_000, 300)
  add(one, 'gps', may - 1, 70)
  add(one, 'battery', Date.UTC(2027, 0, 15), 100)
  assert.deepEqual(readStoredMonths(tools, {}), [
    { month: '2026-04', bytes: 70 },
    { month: '2026-05', bytes: 6_300 },
    { month: '2027-01', bytes: 100 },
  ])
})

test('with many blocks the size is about right, wherever the large ones are', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-months-'))
  const table = new BlockTable(join(folder, 'cartbarn.db'))
  t.after(() => {
    table.close()
    rmSync(folder, { recursive: true })
  })
  const deviceId = table.newDevice()
  const sizes = new Map([
    ['2026-04', 0],
    ['2026-05', 0],
  ])
  const random = createRandom(1)
  table.connection.db.transaction(() => {
    for (let hour = 0; hour < 1_400; hour++) {
      const firstMs = Date.UTC(2026, 3, 1) + hour * 3_600_000
      const month = new Date(firstMs).toISOString().slice(0, 7)
      const bytes = (month === '2026-04' ? 1_000 : 400) + random.integer(0, 120)
      sizes.set(month, (sizes.get(month) ?? 0) + bytes)
      table.addBytes({ deviceId, stream: 'gps', firstMs, lastMs: firstMs, count: 1 }, new Uint8Array(bytes))
    }
  })()
  const found = readStoredMonths(new ReaderTools(table.connection), {})
  assert.deepEqual(
    found.map(({ month }) => month),
    [...sizes.keys()],
  )
  for (const { month, bytes } of found) {
    const share = bytes / (sizes.get(month) ?? 0)
    assert.ok(share > 0.97 && share < 1.03, `${month}: ${share}`)
  }
})

test('only the index is walked, and once, because a year of blocks is gigabytes', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-months-'))
  const table = new BlockTable(join(folder, 'cartbarn.db'))
  t.after(() => {
    table.close()
    rmSync(folder, { recursive: true })
  })
  const block = { deviceId: table.newDevice(), stream: 'gps' as const, firstMs: 1, lastMs: 1, count: 1 }
  table.addBytes(block, new Uint8Array(10))
  const tools = new ReaderTools(table.connection)
  const { connection } = tools
  const plan: string[] = []
  const explained = (sql: string, values: unknown[]) => {
    plan.push(
      ...connection
        .all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...(values as number[]))
        .map(({ detail }) => detail),
    )
  }
  const watched = {
    all: (sql: string, ...values: never[]) => {
      explained(sql, values)
      return connection.all(sql, ...values)
    },
    get: (sql: string, ...values: never[]) => {
      explained(sql, values)
      return connection.get(sql, ...values)
    },
  }
  // it reads nothing else
  readStoredMonths({ connection: watched } as unknown as ReaderTools, {})
  assert.deepEqual(
    plan.filter((step) => step.startsWith('SCAN') && step !== 'SCAN CONSTANT ROW'),
    ['SCAN telemetry_block USING COVERING INDEX telemetry_block_by_device'],
  )
})
