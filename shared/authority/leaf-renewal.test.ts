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

test('a certificate is created at the start and renewed a month before its end, not before', async (t) => {
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
    ['certificate issued: no usable certificate', 'certificate issued: expires soon'],
  )
})

test('a new host address leads to a new certificate, while a lost address does not', async (t) => {
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

test('a host name that the authority does not permit does not cause repeated new certificates', async (t) => {
  const { hosts, renewal, leaf } = machine(t)
  await renewal.start()
  const first = leaf()
  hosts.names = ['barn', 'barn.local']
  await renewal.runOnce()
  assert.equal(leaf().fingerprint256, first.fingerprint256)
  assert.equal(first.checkHost('clubhouse'), 'clubhouse')
})

test('with a clock in 1970 no renewal takes place, and a needed certificate keeps the previous date', async (t) => {
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

test('a certificate issued by a clock years ahead is issued again once the clock is right', async (t) => {
  const { clock, renewal, leaf } = machine(t)
  clock.advance(900 * DAY_MS)
  await renewal.start()
  clock.set(MADE_MS + DAY_MS)
  await renewal.runOnce()
  assert.equal(fromMs(leaf()), MADE_MS - 29 * DAY_MS)
})

test('near and past the end of the authority the last certificate stays and is not reissued', async (t) => {
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

test('a certificate that is half-written, or of another authority, is issued again', async (t) => {
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

test('an unreadable authority leaves the certificate in place and is reported once', async (t) => {
  const { folder, hosts, renewal, leaf, lines } = machine(t)
  await renewal.start()
  const first = leaf()
  writeFileSync(folder.authorityPath, 'not a key')
  hosts.addresses = ['10.0.0.9']
  for (let i = 0; i < 3; i++) await renewal.runOnce()
  assert.equal(leaf().fingerprint256, first.fingerprint256)
  assert.deepEqual(
    lines.map(({ msg }) => msg),
    ['certificate issued', 'certificate renewal failed; retrying every minute'],
  )
})

test('a certificate that cannot be written is reported once and retried until it can', async (t) => {
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
    ['certificate issued', 'certificate renewal failed; retrying every minute', 'certificate issued'],
  )
})

test('a clock outside the validity of the authority is reported until it is set', async (t) => {
  const { clock, renewal } = machine(t)
  await renewal.start()
  for (const [nowMs, problem] of [
    [5_000, /not valid yet \(2026-05-01.*set the clock/],
    [MADE_MS + AUTHORITY_MS, /expired .*set the clock, or create a new one/],
  ] as const) {
    clock.set(nowMs)
    await renewal.runOnce()
    assert.match(renewal.problem ?? '', problem)
    clock.set(MADE_MS)
    await renewal.runOnce()
    assert.equal(renewal.problem, undefined)
  }
})

test('a start without a certificate or a readable authority fails and explains what to do', async (t) => {
  const { folder, renewal } = machine(t)
  writeFileSync(folder.authorityPath, folder.readAuthority().slice(0, 200))
  await assert.rejects(renewal.start(), (error) => {
    assert.ok(error instanceof ConfigError)
    assert.match(error.message, /authority\.pem cannot be used: it holds no certificate; restore it from a backup, or/)
    return true
  })
})

test('keys are readable for their owner only, and no half-written file gets its final name', async (t) => {
  const { dataDir, renewal } = machine(t)
  await renewal.start()
  const files = readdirSync(join(dataDir, 'tls')).sort()
  assert.deepEqual(files, ['authority.pem', 'gateway.pem'])
  for (const name of files) assert.equal(statSync(join(dataDir, 'tls', name)).mode & 0o777, 0o600)
  assert.equal(statSync(join(dataDir, 'tls')).mode & 0o777, 0o700)
})
