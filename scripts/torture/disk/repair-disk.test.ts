import assert from 'node:assert/strict'
import type { SpawnSyncReturns } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { BlockTable } from '#testing/block-table.ts'
import { compileDiskFaults, type DiskFault, DiskFaults } from './faults.ts'
import { repair } from './repair.ts'
import { SmallDisk } from './small-disk.ts'

const folder = mkdtempSync(join(tmpdir(), 'cartbarn-repair-disk-'))
const disk = join(folder, 'disk')
const library = compileDiskFaults(folder)
after(() => rmSync(folder, { recursive: true, force: true }))

/** Data folder with a database of some 2 MB. */
function makeData(data: string): void {
  const table = new BlockTable(join(data, 'cartbarn.db'))
  const device = table.newDevice()
  for (let i = 0; i < 150; i++)
    table.addBlock(
      device,
      'gps',
      Array.from({ length: 600 }, (_, j) => (i * 600 + j) * 1000),
    )
  table.connection.db.pragma('wal_checkpoint(TRUNCATE)')
  table.close()
}

const filesOf = (data: string) => readdirSync(data).filter((name) => !name.endsWith('.lock'))

/** Asserts one sentence with the way out, the old database unchanged, and no other file next to it. */
function assertRefused(data: string, before: Buffer, answer: SpawnSyncReturns<string>, reason: RegExp): void {
  assert.equal(answer.status, 1, answer.stderr)
  assert.match(answer.stderr, reason)
  assert.match(answer.stderr, /, or copy cartbarn\.db\* to a folder on another disk and repair it there with --data\n$/)
  assert.equal(answer.stderr.trim().split('\n').length, 1, answer.stderr)
  assert.deepEqual(filesOf(data), ['cartbarn.db'])
  assert.ok(readFileSync(join(data, 'cartbarn.db')).equals(before))
}

describe('repair on a disk that rejects writes', { skip: library === undefined && 'no C compiler' }, () => {
  function withFault(t: TestContext, fault: DiskFault, reason: RegExp): void {
    const data = mkdtempSync(join(folder, 'data-'))
    makeData(data)
    const before = readFileSync(join(data, 'cartbarn.db'))
    const faults = new DiskFaults(library ?? '', mkdtempSync(join(folder, 'control-')), data)
    t.after(() => faults.close())
    faults.set(fault)
    assertRefused(data, before, repair(data, faults.env), reason)
    faults.clear()
    assert.equal(repair(data, faults.env).status, 0)
  }

  test('replaces nothing in a folder that cannot be written', (t) =>
    withFault(t, { write: 'EROFS' }, /cannot be written .*: nothing was replaced; make it writable/))

  test('replaces nothing if the disk gets full while the new database is written', (t) =>
    withFault(
      t,
      { write: 'ENOSPC', suffix: 'cartbarn-repaired.db' },
      /the disk is full .*: nothing was replaced; free some space/,
    ))
})

describe('repair on a disk that is really small or read-only', () => {
  const small = SmallDisk.mount(disk, 6)
  const skip = small === null && 'no right to mount'
  before(() => {
    const made = mkdtempSync(join(folder, 'made-'))
    makeData(made)
    copyFileSync(join(made, 'cartbarn.db'), join(disk, 'cartbarn.db'))
  })
  after(() => small?.unmount())

  test('reports the needed and the free space if there is not enough', { skip }, () => {
    const before = readFileSync(join(disk, 'cartbarn.db'))
    const filler = join(disk, 'filler')
    writeFileSync(filler, Buffer.alloc(6_000_000 - before.length - 600_000))
    const answer = repair(disk)
    rmSync(filler)
    assertRefused(disk, before, answer, /not enough space .* it needs \d MB and \d MB are free in .*; free some/)
  })

  test('replaces nothing on a read-only disk', { skip }, () => {
    const before = readFileSync(join(disk, 'cartbarn.db'))
    small?.remount('ro')
    const answer = repair(disk)
    small?.remount('rw')
    assertRefused(disk, before, answer, /cannot be written .*: nothing was replaced; make it writable/)
  })
})
