import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ConfigError } from '#shared/errors.ts'
import { createLog } from '#shared/log.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { DAY_MS } from '#shared/time.ts'
import { AUTHORITY_MS, createAuthority } from './authority.ts'
import { AuthorityFolder } from './authority-folder.ts'
import type { HostNames } from './host-names.ts'
import { LeafRenewal } from './leaf-renewal.ts'

const MADE_MS = Date.UTC(2026, 4, 1, 12)

/** A machine with an authority, whose certificate is kept valid. */
function machine(t: TestContext, { hasAuthority = true } = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-renewal-'))
  const folder = new AuthorityFolder(dataDir)
  const clock = new FakeClock(MADE_MS)
  const hosts: HostNames = { names: ['clubhouse', 'clubhouse.local'], addresses: ['192.168.1.20'] }
  const lines: { msg: string; reason: string }[] = []
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) })
  const renewal = new LeafRenewal({ folder, hosts: () => hosts, clock, log })
  t.after(async () => {
    await renewal.stop()
    rmSync(dataDir, { recursive: true })
  })
  if (hasAuthority) folder.writeAuthority(createAuthority(['clubhouse', 'clubhouse.local'], MADE_MS))
  const leaf = () => new X509Certificate(folder.readLeaf() ?? '')
  return { dataDir, folder, clock, hosts, lines, renewal, leaf }
}

const fromMs = (leaf: X509Certificate) => leaf.validFromDate.getTime()

test('a certificate is made at the start and renewed a month before its end, not before', async (t) => {
  const { clock, renewal, leaf, lines } = machine(t)
  await renewal.start()
  const first = leaf()
  assert.equal(fromMs(first), MADE_MS - 30 * DAY_MS)
  clock.set(first.validToDate.getTime() - 30 * DAY_MS - 1)
  await renewal.runOnce()
  assert.equal(leaf().fingerprint256, first.fingerprint256)
  clock.advance(1)
  await renewal.runOnce()
  assert.equal(leaf().validToDate.getTime(), first.validToDate.getTime() + 338 * DAY_MS)
  assert.deepEqual(
    lines.map(({ msg, reason }) => `${msg}: ${reason}`),
    ['made a certificate: there is none that can be used', 'made a certificate: it ends soon'],
  )
})

test('another address of the machine is in a new certificate, and an old one that is gone stays', async (t) => {
  const { hosts, renewal, leaf } = machine(t)
  await renewal.start()
  hosts.addresses = ['192.168.7.3', 'fd00::7:3']
  await renewal.runOnce()
  const moved = leaf()
  assert.ok(moved.checkIP('192.168.7.3') && moved.checkIP('fd00::7:3'))
  assert.equal(moved.checkIP('192.168.1.20'), undefined)
  hosts.addresses = ['192.168.7.3']
  await renewal.runOnce()
  assert.equal(leaf().fingerprint256, moved.fingerprint256)
})

test('a name that the authority does not permit makes no new certificate every minute', async (t) => {
  const { hosts, renewal, leaf } = machine(t)
  await renewal.start()
  const first = leaf()
  hosts.names = ['barn', 'barn.local']
  await renewal.runOnce()
  assert.equal(leaf().fingerprint256, first.fingerprint256)
  assert.equal(first.checkHost('clubhouse'), 'clubhouse')
})

test('by a clock of 1970 nothing is renewed, and what must be made is dated as the one before', async (t) => {
  const { clock, hosts, renewal, leaf } = machine(t)
  clock.advance(200 * DAY_MS)
  await renewal.start()
  const first = leaf()
  clock.set(5_000)
  await renewal.runOnce()
  assert.equal(leaf().fingerprint256, first.fingerprint256)
  hosts.addresses = ['10.0.0.9']
  await renewal.runOnce()
  assert.notEqual(leaf().fingerprint256, first.fingerprint256)
  assert.equal(fromMs(leaf()), fromMs(first))
})

test('a certificate of a clock that was years ahead is made again once the clock is right', async (t) => {
  const { clock, renewal, leaf } = machine(t)
  clock.advance(900 * DAY_MS)
  await renewal.start()
  clock.set(MADE_MS + DAY_MS)
  await renewal.runOnce()
  assert.equal(fromMs(leaf()), MADE_MS - 29 * DAY_MS)
})

test('past the end of the authority the last certificate stays, and none is made over and over before', async (t) => {
  const { clock, renewal, leaf } = machine(t)
  clock.advance(AUTHORITY_MS - 20 * DAY_MS)
  await renewal.start()
  const last = leaf()
  assert.equal(last.validToDate.getTime(), MADE_MS + AUTHORITY_MS)
  for (const days of [1, 18, 400]) {
    clock.advance(days * DAY_MS)
    await renewal.runOnce()
    assert.equal(leaf().fingerprint256, last.fingerprint256)
  }
})

test('a certificate that is half-written, or of another authority, is made again', async (t) => {
  const { folder, renewal, leaf } = machine(t)
  await renewal.start()
  const first = leaf()
  writeFileSync(folder.leafPath, (folder.readLeaf() ?? '').slice(0, 700))
  await renewal.runOnce()
  assert.notEqual(leaf().fingerprint256, first.fingerprint256)
  folder.writeAuthority(createAuthority(['clubhouse'], MADE_MS))
  const second = leaf()
  await renewal.runOnce()
  assert.notEqual(leaf().issuer, second.issuer)
})

test('with an authority that cannot be read the certificate stays, and that is said once', async (t) => {
  const { folder, hosts, renewal, leaf, lines } = machine(t)
  await renewal.start()
  const first = leaf()
  writeFileSync(folder.authorityPath, 'not a key')
  hosts.addresses = ['10.0.0.9']
  for (let i = 0; i < 3; i++) await renewal.runOnce()
  assert.equal(leaf().fingerprint256, first.fingerprint256)
  assert.deepEqual(
    lines.map(({ msg }) => msg),
    ['made a certificate', 'could not renew the certificate; tries again every minute'],
  )
})

test('a certificate that cannot be written is told once, tried again, and all is well once it can', async (t) => {
  const { folder, hosts, renewal, leaf, lines } = machine(t)
  await renewal.start()
  const first = leaf()
  hosts.addresses = ['10.0.0.9']
  mkdirSync(`${folder.leafPath}.new`)
  for (let i = 0; i < 3; i++) await renewal.runOnce()
  assert.match(renewal.problem ?? '', /gateway\.pem cannot be written: .*EISDIR/)
  assert.equal(leaf().fingerprint256, first.fingerprint256)
  rmdirSync(`${folder.leafPath}.new`)
  await renewal.runOnce()
  assert.equal(renewal.problem, undefined)
  assert.ok(leaf().checkIP('10.0.0.9'))
  assert.deepEqual(
    lines.map(({ msg }) => msg),
    ['made a certificate', 'could not renew the certificate; tries again every minute', 'made a certificate'],
  )
})

test('a clock by which the authority is not valid is told until it is set', async (t) => {
  const { clock, renewal } = machine(t)
  await renewal.start()
  for (const [nowMs, problem] of [
    [5_000, /not made yet \(2026-05-01.*set the clock/],
    [MADE_MS + AUTHORITY_MS, /ended .*set the clock, or make another/],
  ] as const) {
    clock.set(nowMs)
    await renewal.runOnce()
    assert.match(renewal.problem ?? '', problem)
    clock.set(MADE_MS)
    await renewal.runOnce()
    assert.equal(renewal.problem, undefined)
  }
})

test('without a certificate and without an authority that can be read a start fails with the way out', async (t) => {
  const { folder, renewal } = machine(t)
  writeFileSync(folder.authorityPath, folder.readAuthority().slice(0, 200))
  await assert.rejects(renewal.start(), (error) => {
    assert.ok(error instanceof ConfigError)
    assert.match(error.message, /authority\.pem cannot be used: it holds no certificate; put its last backup back, or/)
    return true
  })
})

test('keys are for their owner only, and no half file has the name of a whole one', async (t) => {
  const { dataDir, renewal } = machine(t)
  await renewal.start()
  const files = readdirSync(join(dataDir, 'tls')).sort()
  assert.deepEqual(files, ['authority.pem', 'gateway.pem'])
  for (const name of files) assert.equal(statSync(join(dataDir, 'tls', name)).mode & 0o777, 0o600)
  assert.equal(statSync(join(dataDir, 'tls')).mode & 0o777, 0o700)
})
