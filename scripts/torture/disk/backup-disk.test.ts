import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { backupPlaceOf } from '#gateway/offline/backup-places.ts'
import { backUp } from '#gateway/offline/backups.ts'
import { restoreBackup } from '#gateway/offline/restore.ts'
import { BlockTable } from '#testing/block-table.ts'
import { SmallDisk } from './small-disk.ts'

const T0 = Date.UTC(2026, 4, 1)
const folder = mkdtempSync(join(tmpdir(), 'cartbarn-backup-disk-'))
const stick = join(folder, 'stick')
const sets = join(stick, 'sets')
const [data, larger] = [join(folder, 'data'), join(folder, 'larger')]
after(() => rmSync(folder, { recursive: true, force: true }))

/** Database of a gateway with that many incompressible megabytes. */
function makeData(path: string, megabytes: number): void {
  mkdirSync(path)
  const table = new BlockTable(join(path, 'cartbarn.db'))
  table.newDevice()
  table.connection.db
    .prepare(
      `WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ?)
       INSERT INTO mqtt_retained SELECT 't/' || i, randomblob(65536), 1, NULL FROM c`,
    )
    .run(megabytes * 16)
  table.close()
}

const place = () => backupPlaceOf(`${sets}/`, 'write')
const back = async (number?: number) => {
  const to = mkdtempSync(join(folder, 'to-'))
  return restoreBackup({ dataDir: to, from: backupPlaceOf(sets, 'read'), number, atMs: T0 })
}

describe('backups on a stick that is really small, or pulled out', () => {
  let disk = SmallDisk.mount(stick, 6)
  const skip = disk === null && 'no right to mount'
  before(() => {
    if (disk === null) return
    makeData(data, 3)
    makeData(larger, 8)
  })
  after(() => disk?.unmount())

  test('report a full stick, and existing backups on it stay complete', { skip }, async () => {
    await backUp({ dataDir: data, to: place(), atMs: T0 })
    const full = { message: `${sets}: the disk is full; free some space` }
    await assert.rejects(backUp({ dataDir: larger, to: place(), atMs: T0 }), full)
    await assert.rejects(
      backUp({ dataDir: larger, to: join(stick, 'one.backup'), atMs: T0 }),
      /one\.backup: the disk is full; free some space$/,
    )
    assert.deepEqual(readdirSync(stick), ['sets'])
    assert.equal((await back()).manifest.number, 1)
    // only space was missing
    disk?.remount('size=32m')
    assert.equal((await backUp({ dataDir: larger, to: place(), atMs: T0 })).number, 2)
    assert.equal((await back(2)).manifest.tables.find(({ name }) => name === 'mqtt_retained')?.rows, 128)
  })

  test('report a stick pulled out during a backup, and nothing is written to its mount point', { skip }, async () => {
    rmSync(sets, { recursive: true, force: true })
    const to = place()
    const { write } = to
    let parts = 0
    to.write = async (name, content) => {
      if (++parts === 3) {
        disk?.unmount()
        // the card may have a folder of that name, from a day when the stick was not connected
        mkdirSync(sets)
      }
      return write.call(to, name, content)
    }
    await assert.rejects(backUp({ dataDir: larger, to, atMs: T0 }), {
      message: `${sets} no longer exists: check that the disk is connected`,
    })
    assert.equal(parts, 3)
    assert.deepEqual(readdirSync(stick, { recursive: true }), ['sets'])
    disk = SmallDisk.mount(stick, 32)
    assert.equal((await backUp({ dataDir: larger, to: place(), atMs: T0 })).number, 1)
  })
})
