import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { checkBackups } from '#gateway/doctor/check-backups.ts'
import { checkCertificate } from '#gateway/doctor/check-certificate.ts'
import { checkDatabase } from '#gateway/doctor/check-database.ts'
import { checkReported } from '#gateway/doctor/check-reported.ts'
import { lineOf } from '#gateway/doctor/finding.ts'
import { thisMachine } from '#gateway/doctor/machine.ts'
import { findRunning } from '#gateway/doctor/running.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { createKeyPair, KeyPairFolder } from '#shared/testing/key-pairs.ts'
import { toIso } from '#shared/time.ts'
import { describeFinding, FINDINGS, type FindingCode } from '#shared/wire/machine/findings.ts'
import type { FindingJson } from '#shared/wire/machine/repairs.ts'
import { newFolder } from '#testing/backup-sets.ts'
import { fails, ok, pluck, scene } from '#testing/scene.ts'
import { ADMIN_KEY, startFor, type TestGateway } from '#testing/start-gateway.ts'

const { onlyFor } = scene({ inScope: [] })
onlyFor('admins', ['GET', '/repairs'], ['POST', '/repairs/accept'], ['POST', '/tls/renew'])

const pairs = new KeyPairFolder(createKeyPair())
after(() => pairs.remove())

const findings = async (g: TestGateway): Promise<FindingJson[]> => (await ok(g.get('/repairs'))).findings
const codes = async (g: TestGateway) => (await findings(g)).map(({ code }) => code)

test('a new gateway reports what it lacks in the words of doctor', async (t) => {
  const g = await startFor(t)
  const { port } = new URL(g.http)
  const running = await findRunning({ host: '127.0.0.1', httpPort: Number(port), tls: undefined }, ADMIN_KEY)
  const machine = thisMachine(process.getuid?.() ?? 0)
  const doctor = [
    ...checkDatabase(g.config.dataDir, running),
    ...checkBackups(machine, g.config.dataDir, undefined),
    await checkCertificate(machine, undefined),
  ].map(lineOf)
  const found = await findings(g)
  assert.deepEqual(await codes(g), ['clock_unconfirmed', 'backup_none', 'certificate_none'])
  for (const { level, about, message, todo } of found) {
    const line = lineOf({ level, about, message, todo })
    assert.ok(doctor.includes(line), `${line}\n${doctor.join('\n')}`)
  }
  assert.deepEqual(
    found.map(({ action }) => action),
    ['confirm_clock', null, null],
  )
  await ok(g.post('/clock/confirm', { time: toIso(Date.now()) }))
  assert.deepEqual(await codes(g), ['backup_none', 'certificate_none'])
})

test('a finding about backups ends with a backup, except that it is on the disk of the data', async (t) => {
  const target = `${newFolder(t)}/`
  const g = await startFor(t, { CARTBARN_BACKUP_TO: target, CARTBARN_BACKUP_PASSPHRASE: 'the nineteenth hole' })
  const backups = async () => (await findings(g)).filter(({ code }) => code.startsWith('backup'))
  assert.deepEqual(
    (await backups()).map(({ code, action, values }) => [code, action, values]),
    [
      ['backup_first', 'back_up', { target }],
      ['backup_same_disk', null, { target }],
    ],
  )
  await ok(g.post('/backups'), 202)
  await eventually(async () => (await backups()).length === 1, 'the backup')
})

test('a recipient that cannot be reached is a finding with a test message', async (t) => {
  const g = await startFor(t)
  const created = await ok(g.post('/notifiers', { channel: 'ntfy', to: 'http://127.0.0.1:9/barn' }), 201)
  const { notifier_id } = created.notifier ?? created
  await ok(g.post(`/notifiers/${notifier_id}/test`), 202)
  const failing = async () => (await findings(g)).find(({ code }) => code === 'recipient_failing')
  await eventually(async () => (await failing()) !== undefined, 'the failed message')
  const { action, target, message } = (await failing()) ?? {}
  assert.deepEqual([action, target], ['send_test', notifier_id])
  assert.match(message ?? '', /127\.0\.0\.1:9\/barn failed: /)
  const { port } = new URL(g.http)
  const running = (key?: string) => findRunning({ host: '127.0.0.1', httpPort: Number(port), tls: undefined }, key)
  assert.deepEqual(
    (await checkReported(await running(ADMIN_KEY))).map((finding) => finding.message),
    [message],
  )
  assert.deepEqual(await checkReported(await running()), [])
})

test('a certificate is read again on request, and clients without TLS are named', async (t) => {
  const g = await startFor(t, pairs.settings)
  await g.createUser({ name: 'Printer', role: 'staff', allowed_hardware_ids: ['*'] })
  const device = await g.device('tb-plain')
  t.after(() => device.endAsync(true))
  const byCode = async (code: FindingCode) => (await findings(g)).find((one) => one.code === code)
  assert.match((await byCode('plain_http'))?.message ?? '', /^1 used it since .*: Admin \(/)
  assert.match((await byCode('plain_mqtt'))?.message ?? '', /^1 still use it without TLS: tb-plain$/)
  pairs.write({ cert: 'no certificate', key: 'no key' })
  await g.reloadCertificate()
  assert.equal((await byCode('certificate_not_renewed'))?.action, 'renew_certificate')
  assert.match((await ok(g.post('/tls/renew'))).detail, /CARTBARN_TLS/)
  pairs.write(createKeyPair())
  assert.equal((await ok(g.post('/tls/renew'))).detail, undefined)
  const { entries } = await ok(g.get('/audit-log?action=certificate.renewed'))
  assert.deepEqual(pluck(entries, 'target', 'user_id'), [
    ['certificate', await g.adminId()],
    ['certificate', await g.adminId()],
  ])
  assert.equal(await byCode('certificate_not_renewed'), undefined)
  const bare = await startFor(t)
  await fails(bare.post('/tls/renew'), 409, 'no_certificate')
})

test('all texts of a finding name the same values in both languages', () => {
  const names = (texts: readonly string[]) => new Set(texts.join(' ').match(/\{\w+\}/g))
  for (const [code, { en, de }] of Object.entries(FINDINGS))
    for (const name of names(de)) assert.ok(names(en).has(name), `${code}: ${name}`)
  assert.deepEqual(describeFinding('backup_first', { target: '/a/' }, 'de').message, 'Noch keine in /a/')
})
