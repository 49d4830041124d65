import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createLog } from '#shared/log.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { HOUR_MS } from '#shared/time.ts'
import { BlockTable } from '#testing/block-table.ts'
import { type BackupStatus, Backups } from './backups.ts'

/** Store that fails on any write: only a request by an admin writes one. */
const NO_STORE = { write: () => assert.fail('nothing is written') }
const AT_NOON = Date.UTC(2026, 4, 1, 12)

function setUp(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-nightly-'))
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  const table = new BlockTable(join(dataDir, 'cartbarn.db'))
  table.newDevice()
  table.close()
  const target = join(folder, 'stick')
  const clock = new FakeClock(AT_NOON)
  const confirmation = { state: 'confirmed' }
  const machine: { detail: string | null } = { detail: null }
  const settings = {
    target: `${target}/`,
    mustBeMounted: false,
    s3: undefined,
    passphrase: 'nineteenth',
    keep: 2,
    hour: 3,
  }
  const create = () =>
    new Backups({
      settings,
      dataDir,
      clock,
      clockConfirmation: confirmation,
      machine,
      log: createLog('silent'),
      store: NO_STORE,
      site: { settings: { timeZone: 'Europe/Berlin' } },
    })
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return {
    target,
    clock,
    confirmation,
    machine,
    create,
    snapshots: () => readdirSync(join(target, 'snapshots')).length,
  }
}

test('one backup is made each night of the site, and the configured number is kept', async (t) => {
  const { target, clock, create, snapshots } = setUp(t)
  const backups = create()
  await backups.start()
  t.after(() => backups.stop())
  backups.check()
  assert.equal(backups.status?.lastGoodMs, null)
  assert.equal(backups.nextMs, AT_NOON + 13 * HOUR_MS)
  // three o'clock in Berlin
  clock.advance(13 * HOUR_MS)
  for (let night = 1; night <= 3; night++) {
    backups.check()
    await backups.runNow()
    const status: BackupStatus | null = backups.status
    assert.partialDeepStrictEqual(status, { lastGoodMs: clock.nowMs(), isOverdue: false, fault: null })
    const shown: number[] | undefined = status?.stay.map(({ number }) => number)
    assert.deepEqual(shown, night === 1 ? [1] : [night - 1, night])
    assert.equal(backups.nextMs, clock.nowMs() + 24 * HOUR_MS)
    assert.equal(snapshots(), Math.min(night, 2))
    clock.advance(24 * HOUR_MS)
  }
  // a backup requested by day does not replace the nightly one
  clock.advance(-10 * HOUR_MS)
  await backups.runNow()
  assert.equal(backups.nextMs, clock.nowMs() + 10 * HOUR_MS)
  assert.deepEqual(readdirSync(target).sort(), ['blobs', 'cartbarn-backup.json', 'snapshots', 'unfinished'])
})

test('36 hours without a good backup are reported, also after a restart, until the next good backup', async (t) => {
  const { target, clock, confirmation, create } = setUp(t)
  writeFileSync(target, 'in the way')
  const first = create()
  await first.start()
  clock.advance(20 * HOUR_MS)
  await first.runNow()
  assert.match(first.status?.fault ?? '', /stick/)
  assert.deepEqual([first.overdue, first.failures], ['over', 1])
  await first.stop()
  const second = create()
  await second.start()
  assert.equal(second.status?.fault, first.status?.fault)
  t.after(() => second.stop())
  clock.advance(16 * HOUR_MS)
  assert.equal(second.overdue, 'holds')
  confirmation.state = 'unconfirmed'
  assert.equal(second.overdue, 'unsure')
  confirmation.state = 'confirmed'
  rmSync(target)
  await second.runNow()
  assert.equal(second.overdue, 'over')
})

test('on a foreign machine no backup is made or deleted until a user decides', async (t) => {
  const { target, clock, machine, create, snapshots } = setUp(t)
  const backups = create()
  await backups.start()
  t.after(() => backups.stop())
  clock.advance(13 * HOUR_MS)
  for (let night = 1; night <= 2; night++) {
    await backups.runNow()
    clock.advance(24 * HOUR_MS)
  }
  const before = readdirSync(join(target, 'snapshots'))
  machine.detail = 'a copied card'
  backups.check()
  await backups.runNow()
  assert.deepEqual([backups.nextMs, backups.status?.isHeld, backups.failures], [null, true, 0])
  await assert.rejects(backups.begin(), { code: 'other_machine', message: 'a copied card' })
  assert.deepEqual(readdirSync(join(target, 'snapshots')), before)
  machine.detail = null
  assert.equal(backups.nextMs, clock.nowMs())
  await backups.runNow()
  assert.equal(backups.status?.lastGoodMs, clock.nowMs())
  assert.equal(snapshots(), 2)
})
