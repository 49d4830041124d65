import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { connectAsync } from 'mqtt'
import { FakeClock } from '#shared/testing/clocks.ts'
import { startGateway } from '#testing/start-gateway.ts'
import { createTls } from './tls.ts'

/** Creates the data folder of a gateway that was started once, and the command in it. */
function site(t: TestContext, { hasDatabase = true } = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-tls-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  if (hasDatabase) writeFileSync(join(dataDir, 'cartbarn.db'), '')
  const clock = new FakeClock(Date.now())
  const run = async (...argv: string[]) => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    const code = await createTls(clock)(argv, {
      env: { CARTBARN_DATA_DIR: dataDir },
      folder: dataDir,
      stdin: Readable.from([]),
      stdout,
      stderr,
      signal: new AbortController().signal,
    })
    return { code, out: String(stdout.read() ?? ''), err: String(stderr.read() ?? '') }
  }
  return { dataDir, clock, run, authorityPath: join(dataDir, 'tls', 'authority.pem') }
}

test('init creates an authority for the names of this host, and explains the next step', async (t) => {
  const { run, authorityPath } = site(t)
  const { code, out, err } = await run('init', '--name', 'starter.club', 'pro-shop.local')
  assert.deepEqual([code, err], [0, ''])
  assert.match(out, /may sign for .*starter\.club, pro-shop.local, localhost and private addresses/)
  assert.match(out, /Certificate {2}for .*starter\.club.*127\.0\.0\.1/)
  assert.match(out, /restart the gateway/)
  assert.ok(!out.includes('PRIVATE'))
  assert.equal(statSync(authorityPath).mode & 0o777, 0o600)
})

test('init keeps an existing authority, and replaces it on request', async (t) => {
  const { run, authorityPath } = site(t)
  await run('init')
  const first = readFileSync(authorityPath, 'utf8')
  const again = await run('init')
  assert.deepEqual([again.code, again.err.split('\n').length], [1, 2])
  assert.match(again.err, /there is an authority already.*--replace/)
  assert.equal(readFileSync(authorityPath, 'utf8'), first)
  assert.equal((await run('init', '--replace')).code, 0)
  assert.notEqual(readFileSync(authorityPath, 'utf8'), first)
})

test('renew creates another certificate of the same authority, and status describes it', async (t) => {
  const { run, dataDir } = site(t)
  await run('init')
  const leafPath = join(dataDir, 'tls', 'gateway.pem')
  const first = readFileSync(leafPath, 'utf8')
  const renewed = await run('renew')
  assert.notEqual(readFileSync(leafPath, 'utf8'), first)
  assert.equal((await run('status')).out, renewed.out)
  writeFileSync(leafPath, first.slice(0, 300))
  assert.match((await run('status')).out, /Certificate {2}none that can be read/)
})

test('a failed command ends with one line that names a remedy', async (t) => {
  const fails = async (answer: Promise<{ code: number; err: string }>, code: number, why: RegExp) => {
    const { code: found, err } = await answer
    assert.equal(found, code)
    assert.match(err, why)
    assert.equal(err.split('\n').length, 2)
  }
  const empty = site(t, { hasDatabase: false })
  await fails(empty.run('init'), 1, /no database of a gateway: start the gateway once, or set CARTBARN_DATA_DIR/)
  const { run, clock, authorityPath, dataDir } = site(t)
  await fails(run(), 2, /a command is needed/)
  await fails(run('status'), 1, /"cartbarn tls init" makes one/)
  await fails(run('renew'), 1, /"cartbarn tls init" makes one/)
  await fails(run('init', '--name', '8.8.8.8'), 1, /8\.8\.8\.8 is neither the name of a host nor a private address/)
  await fails(run('init', '--name', '*.club'), 1, /neither the name/)
  for (const name of ['com', 'co.uk', 'pro-shop', 'Local', 'duckdns.org'])
    await fails(run('init', '--name', name), 1, /is not a name of this machine alone/)
  const nowMs = clock.nowMs()
  clock.set(5_000)
  await fails(run('init'), 1, /the clock of this machine shows 1970: set it/)
  clock.set(nowMs)
  await run('init')
  clock.set(5_000)
  await fails(run('renew'), 1, /by the clock of the gateway computer/)
  clock.set(nowMs)
  const whole = readFileSync(authorityPath, 'utf8')
  writeFileSync(authorityPath, whole.slice(0, -80))
  await fails(run('status'), 1, /authority\.pem cannot be used: .*backup/)
  rmSync(join(dataDir, 'tls'), { recursive: true })
  writeFileSync(join(dataDir, 'tls'), 'a file')
  await fails(run('init'), 1, /authority\.pem cannot be written: /)
})

test('a gateway with an authority serves HTTPS and MQTT over TLS to clients that trust it', async (t) => {
  const { run, dataDir } = site(t)
  assert.equal((await run('init')).code, 0)
  const gateway = await startGateway({ CARTBARN_DATA_DIR: dataDir, CARTBARN_MQTTS_PORT: '0' })
  t.after(() => gateway.stop())
  const ca = readFileSync(join(dataDir, 'tls', 'authority.pem'), 'utf8')
  const port = new URL(gateway.http).port
  for (const name of [hostname().toLowerCase(), 'localhost', '127.0.0.1']) {
    const asked = name === '127.0.0.1' ? ['-verify_ip', name] : ['-verify_hostname', name]
    const client = spawn('openssl', [
      's_client',
      '-connect',
      `127.0.0.1:${port}`,
      '-verify_return_error',
      ...asked,
      '-CAfile',
      join(dataDir, 'tls', 'authority.pem'),
    ])
    client.stdin.end()
    client.stdout.resume()
    const [status] = await once(client, 'exit')
    assert.equal(status, 0, name)
  }
  const plainUrl = gateway.http.replace('https:', 'http:')
  const page = await fetch(`${plainUrl}/trust`, { headers: { 'accept-language': 'de-DE,de;q=0.9' } })
  assert.equal(page.status, 200)
  const text = await page.text()
  const { fingerprint256, raw } = new X509Certificate(ca)
  assert.ok(text.includes('Diesem Gateway vertrauen') && text.includes(fingerprint256))
  assert.ok(text.includes(`href="${gateway.http}/app/"`))
  const file = await fetch(`${plainUrl}/trust/cartbarn.crt`)
  assert.deepEqual(Buffer.from(await file.arrayBuffer()), raw)
  const pem = await (await fetch(`${plainUrl}/trust/cartbarn.pem`)).text()
  assert.ok(pem.startsWith('-----BEGIN CERTIFICATE-----') && !pem.includes('PRIVATE'))
  assert.deepEqual(new X509Certificate(pem).raw, raw)
  const profile = await (await fetch(`${plainUrl}/trust/cartbarn.mobileconfig`)).text()
  assert.ok(profile.includes(raw.toString('base64')) && !profile.includes('PRIVATE'))
  assert.equal((await fetch(`${plainUrl}/trust/authority.pem`)).status, 404)
  const password = await gateway.register('cart-1')
  const client = await connectAsync(gateway.mqtts, { ca, clientId: 'cart-1', username: 'cart-1', password })
  await client.publishAsync('dev/cart-1/tlm', '{"speed":1}', { qos: 1 })
  await client.endAsync()
})
