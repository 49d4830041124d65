import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect, createServer } from 'node:tls'
import { ConfigError } from '#shared/errors.ts'
import { createLog } from '#shared/log.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { createKeyPair, KeyPairFolder } from '#shared/testing/key-pairs.ts'
import { DAY_MS } from '#shared/time.ts'
import type { KeyPairFiles } from '#shared/tls.ts'
import { Certificate } from './certificate.ts'

const ONE = createKeyPair({ commonName: 'one' })
const TWO = createKeyPair({ commonName: 'two' })
const SETTINGS = { cert: 'CARTBARN_TLS_CERT', key: 'CARTBARN_TLS_KEY' }

function folderOf(t: TestContext, pair = ONE): KeyPairFolder {
  const folder = new KeyPairFolder(pair)
  t.after(() => folder.remove())
  return folder
}

/** TLS server with a certificate from files that are checked continuously, or never. */
async function serve(t: TestContext, files: KeyPairFiles, { isWatching = true, clock = new FakeClock() } = {}) {
  const lines: { level: string; msg: string; reason?: string; subject?: string; expiresAt?: string }[] = []
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) })
  const server = createServer()
  const certificate = new Certificate({
    files,
    settings: SETTINGS,
    clock,
    log,
    checkEveryMs: isWatching ? 5 : 2 ** 30,
  })
  certificate.secure(server)
  t.after(async () => {
    await certificate.stop()
    server.close()
  })
  await certificate.start()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const { port } = address
  return {
    certificate,
    lines,
    /** Log messages without fields. */
    messages: () => lines.map(({ level, msg }) => `${level} ${msg}`),
    /** Returns the name that a new client sees. */
    seen: async () => {
      const client = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
      await once(client, 'secureConnect')
      const { CN } = client.getPeerCertificate().subject
      client.destroy()
      return CN
    },
  }
}

test('subject and expiry are logged when a certificate is loaded', async (t) => {
  const { lines, certificate, seen } = await serve(t, folderOf(t))
  assert.equal(await seen(), 'one')
  assert.equal(certificate.expiresAtS, Date.UTC(2099, 0, 1) / 1000)
  assert.equal(lines.length, 1)
  const { level, msg, subject, expiresAt } = lines[0] ?? assert.fail()
  assert.deepEqual([level, msg], ['info', 'certificate loaded'])
  assert.deepEqual([subject, expiresAt], ['CN=one', '2099-01-01T00:00:00.000Z'])
})

const NOON_MS = Date.UTC(2026, 4, 1, 12)

for (const [what, fields, warnings] of [
  ['expires in 15 days', { expiresAtMs: NOON_MS + 15 * DAY_MS }, []],
  ['expires in 14 days', { expiresAtMs: NOON_MS + 14 * DAY_MS }, ['warn the certificate expires soon']],
  ['has expired', { expiresAtMs: NOON_MS }, ['warn the certificate has expired']],
  ['begins tomorrow', { validFromMs: NOON_MS + DAY_MS }, ['warn the certificate is not valid yet']],
] as const) {
  const then = warnings.length === 0 ? 'no warning' : 'a warning, and is used'
  test(`a certificate that ${what} gets ${then}`, async (t) => {
    const folder = folderOf(t, createKeyPair({ commonName: 'dated', ...fields }))
    const { messages, seen } = await serve(t, folder, { clock: new FakeClock(NOON_MS) })
    assert.deepEqual(messages(), ['info certificate loaded', ...warnings])
    assert.equal(await seen(), 'dated')
  })
}

test('a certificate that expires while in use is logged as a warning every day', async (t) => {
  const clock = new FakeClock(NOON_MS)
  const folder = folderOf(t, createKeyPair({ expiresAtMs: NOON_MS + 15 * DAY_MS }))
  const { messages } = await serve(t, folder, { clock })
  for (const [days, warning] of [
    [1, 'warn the certificate expires soon'],
    [1, 'warn the certificate expires soon'],
    [13, 'warn the certificate has expired'],
  ] as const) {
    const before = messages().length
    clock.advance(days * DAY_MS)
    await eventually(() => messages().length > before, 'a warning')
    assert.deepEqual(messages().slice(before), [warning])
  }
})

test('files that are renamed into place are noticed', async (t) => {
  const folder = folderOf(t)
  const { seen, messages } = await serve(t, folder)
  folder.write(TWO)
  await eventually(async () => (await seen()) === 'two', 'the new certificate')
  assert.equal(messages().at(-1), 'info certificate loaded')
})

test('links that are pointed at other files are noticed', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-tls-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const files = { certPath: join(folder, 'cert.pem'), keyPath: join(folder, 'privkey.pem') }
  const pointAt = (name: string, pair: typeof ONE) => {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'cert.pem'), pair.cert)
    writeFileSync(join(folder, name, 'privkey.pem'), pair.key)
    for (const path of Object.values(files)) {
      symlinkSync(path.replace(folder, join(folder, name)), `${path}.new`)
      renameSync(`${path}.new`, path)
    }
  }
  pointAt('1', ONE)
  const { seen } = await serve(t, files)
  pointAt('2', TWO)
  await eventually(async () => (await seen()) === 'two', 'the new certificate')
})

test('a certificate whose key arrives later is used from then on, after one warning', async (t) => {
  const folder = folderOf(t)
  const { seen, lines, messages } = await serve(t, folder)
  folder.write({ cert: TWO.cert })
  await eventually(() => lines.length === 2, 'a warning')
  assert.equal(lines[1]?.level, 'warn')
  assert.match(lines[1]?.reason ?? '', /^CARTBARN_TLS_KEY: does not match the certificate/)
  for (let turn = 0; turn < 5; turn++) assert.equal(await seen(), 'one')
  folder.write({ key: TWO.key })
  await eventually(async () => (await seen()) === 'two', 'the new certificate')
  assert.deepEqual(messages(), [
    'info certificate loaded',
    'warn certificate reload failed; keeping the current one',
    'info certificate loaded',
  ])
})

/** Unusable files: the setting at fault, and the message. */
const UNUSABLE: Record<string, { files: Partial<typeof ONE> | 'removed'; message: RegExp }> = {
  'files that are gone': { files: 'removed', message: /^CARTBARN_TLS_CERT: cannot be read: ENOENT/ },
  'an empty certificate': { files: { cert: '' }, message: /^CARTBARN_TLS_CERT: is not a certificate in PEM form/ },
  'half a certificate': {
    files: { cert: TWO.cert.slice(0, TWO.cert.length / 2) },
    message: /^CARTBARN_TLS_CERT: is not a certificate in PEM form/,
  },
  'a chain that is cut short': {
    files: { cert: TWO.cert + ONE.cert.slice(0, ONE.cert.length / 2), key: TWO.key },
    message: /^CARTBARN_TLS_CERT: cannot be used/,
  },
  'an empty key': { files: { key: '' }, message: /^CARTBARN_TLS_KEY: is not a private key in PEM form/ },
  'half a key': {
    files: { key: TWO.key.slice(0, TWO.key.length / 2) },
    message: /^CARTBARN_TLS_KEY: is not a private key in PEM form/,
  },
  'the key of another certificate': {
    files: { key: TWO.key },
    message: /^CARTBARN_TLS_KEY: does not match the certificate in CARTBARN_TLS_CERT/,
  },
  'the files the wrong way round': {
    files: { cert: TWO.key, key: TWO.cert },
    message: /^CARTBARN_TLS_CERT: is not a certificate in PEM form/,
  },
}

for (const [what, { files, message }] of Object.entries(UNUSABLE)) {
  const spoil = (folder: KeyPairFolder) => {
    if (files === 'removed') folder.remove()
    else folder.write(files)
  }

  test(`a start with ${what} fails and names the setting`, async (t) => {
    const folder = folderOf(t)
    spoil(folder)
    await assert.rejects(serve(t, folder), (error) => {
      assert.ok(error instanceof ConfigError)
      assert.match(error.message, message)
      assert.doesNotMatch(error.message, /-----/)
      return true
    })
  })

  test(`a good pair stays in use instead of ${what}`, async (t) => {
    const folder = folderOf(t)
    const { certificate, seen, lines } = await serve(t, folder, { isWatching: false })
    spoil(folder)
    await certificate.reload()
    assert.equal(lines.length, 2)
    assert.equal(lines[1]?.level, 'warn')
    assert.match(lines[1]?.reason ?? '', message)
    assert.equal(await seen(), 'one')
    assert.equal(certificate.expiresAtS, Date.UTC(2099, 0, 1) / 1000)
  })
}

test('a requested reload reports its result every time', async (t) => {
  const folder = folderOf(t)
  const { certificate, messages, seen } = await serve(t, folder, { isWatching: false })
  await certificate.reload()
  folder.write({ cert: TWO.cert })
  await certificate.reload()
  await certificate.reload()
  folder.write(TWO)
  await certificate.reload()
  assert.equal(await seen(), 'two')
  assert.deepEqual(messages(), [
    'info certificate loaded',
    'info the certificate has not changed',
    'warn certificate reload failed; keeping the current one',
    'warn certificate reload failed; keeping the current one',
    'info certificate loaded',
  ])
})
