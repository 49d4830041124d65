import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { request as plainRequest } from 'node:http'
import { createServer, request } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bareEnvironment } from '#shared/testing/bare-environment.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { createKeyPair } from '#shared/testing/key-pairs.ts'
import { HOUR_MS } from '#shared/time.ts'
import { newFolder } from '#testing/backup-sets.ts'
import { RealtimeClient } from '#testing/realtime-client.ts'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { readConfig } from './config.ts'

const ENTRY = fileURLToPath(new URL('../scripts/commands/cartbarn.ts', import.meta.url))
const CODE_LINE = /^setup code: ([0-9A-HJKMNP-TV-Z]{4}(?:-[0-9A-HJKMNP-TV-Z]{4}){2})$/m

/** Starts a gateway that creates the admin's key. */
async function startFirst(t: TestContext): Promise<{ g: TestGateway; file: string }> {
  const g = await startGateway({ CARTBARN_ADMIN_API_KEY: '' })
  t.after(() => g.stop())
  return { g, file: join(g.config.dataDir, 'admin-key.txt') }
}

function codeIn(file: string): string {
  return CODE_LINE.exec(readFileSync(file, 'utf8'))?.[1] ?? assert.fail('no setup code')
}

function keyIn(file: string): string {
  return readFileSync(file, 'utf8').split('\n')[0] ?? ''
}

async function signIn(g: TestGateway, code: string) {
  const { status, body } = await g.request('POST', '/sessions', { key: null, body: { code } })
  return { status, code: body.code, body }
}

describe('the setup code', () => {
  test('is stored next to the key, readable by the owner only, and signs the admin in once', async (t) => {
    const { g, file } = await startFirst(t)
    const [code, key] = [codeIn(file), keyIn(file)]
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const answers = await Promise.all([1, 2, 3].map(() => signIn(g, code)))
    const [made, ...others] = answers.sort((a, b) => a.status - b.status)
    assert.deepEqual([made?.status, made?.body.session.name, made?.body.role], [201, 'setup', 'admin'])
    for (const other of others) assert.deepEqual([other.status, other.code], [401, 'invalid_code'])
    // the key is not used yet
    assert.equal(readFileSync(file, 'utf8'), `${key}\n`)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    await g.restart()
    assert.equal((await signIn(g, code)).code, 'invalid_code')
    assert.equal((await g.request('GET', '/users', { key })).status, 200)
    await eventually(() => !existsSync(file), 'no file')
  })

  test('is revoked as soon as the key was used', async (t) => {
    const { g, file } = await startFirst(t)
    const [code, key] = [codeIn(file), keyIn(file)]
    assert.equal((await g.request('GET', '/me', { key })).status, 200)
    assert.equal((await signIn(g, code)).code, 'invalid_code')
    await eventually(() => !existsSync(file), 'no file')
  })

  test('is revoked as soon as the admin has created a session with the key', async (t) => {
    const { g, file } = await startFirst(t)
    const code = codeIn(file)
    await g.signIn({ api_key: keyIn(file) })
    assert.equal((await signIn(g, code)).code, 'invalid_code')
  })

  test('survives restarts until it is used', async (t) => {
    const { g, file } = await startFirst(t)
    const code = codeIn(file)
    await g.restart()
    assert.equal(codeIn(file), code)
    assert.equal((await signIn(g, code.toLowerCase().replaceAll('-', ''))).status, 201)
  })

  test('is not created when the key is given', async (t) => {
    const g = await startGateway()
    t.after(() => g.stop())
    assert.equal(existsSync(join(g.config.dataDir, 'admin-key.txt')), false)
  })

  test('lets the admin rotate the key and sign in with the new one', async (t) => {
    const { g, file } = await startFirst(t)
    const browser = await g.signIn({ code: codeIn(file) })
    const { user } = await browser.me()
    const rotated = await browser.request('POST', `/users/${user.user_id}/rotate-key`)
    assert.equal(rotated.status, 200)
    assert.equal((await browser.request('GET', '/me')).body.code, 'invalid_session')
    await g.signIn({ api_key: rotated.body.api_key })
    await eventually(() => !existsSync(file), 'no file')
  })
})

describe('the browser in setup', () => {
  test('can recreate the admin key until the key is used to sign in, also after a restart', async (t) => {
    const clock = new FakeClock()
    const g = await startGateway({ CARTBARN_ADMIN_API_KEY: '' }, { clock })
    t.after(() => g.stop())
    const browser = await g.signIn({ code: codeIn(join(g.config.dataDir, 'admin-key.txt')) })
    assert.equal((await browser.me()).session?.is_set_up, true)
    const user_id = (await browser.me()).user.user_id
    const pairing = await browser.request('POST', '/pairing-codes', { body: { user_id, name: 'setup' } })
    const other = await g.signIn({ code: pairing.body.code })
    assert.equal((await other.me()).session?.is_set_up, undefined)
    const makeKey = async () => (await browser.request('POST', '/sessions/current/key')).body.api_key
    const keys = [await makeKey(), await makeKey()]
    // the browser stays signed in, another one of the same user does not
    assert.equal((await other.request('GET', '/me')).body.code, 'invalid_session')
    clock.advance(HOUR_MS)
    await g.restart()
    assert.equal((await browser.me()).role, 'admin')
    keys.push(await makeKey())
    const [first, second, third] = keys
    for (const key of [first, second])
      assert.equal((await g.request('GET', '/me', { key })).body.code, 'invalid_api_key')
    const { entries } = (await g.request('GET', '/audit-log?action=key.rotated', { key: third })).body
    const userIds = entries.map((entry: { user_id: string }) => entry.user_id)
    assert.deepEqual(userIds, [user_id, user_id, user_id])
    const signedIn = await g.signIn({ api_key: third })
    const refused = await signedIn.request('POST', '/sessions/current/key')
    assert.deepEqual([refused.status, refused.body.code], [403, 'admin_required'])
    assert.equal((await browser.request('GET', '/me')).body.code, 'invalid_session')
  })

  test('keeps its rights until the key is used, and a session that only has its name gets none', async (t) => {
    const clock = new FakeClock()
    const g = await startGateway({ CARTBARN_ADMIN_API_KEY: '' }, { clock })
    t.after(() => g.stop())
    const browser = await g.signIn({ code: codeIn(join(g.config.dataDir, 'admin-key.txt')) })
    const makeKey = () => browser.request('POST', '/sessions/current/key')
    clock.advance(HOUR_MS)
    const { api_key: key } = (await makeKey()).body
    assert.equal((await browser.me()).role, 'admin')
    const named = await g.signIn({ api_key: key, name: 'setup' })
    assert.equal((await named.request('POST', '/sessions/current/key')).status, 403)
    assert.equal((await makeKey()).body.code, 'invalid_session')
    assert.equal((await g.request('GET', '/me', { key })).status, 200)
  })
})

/** Runs a gateway as a program; `wrap` makes the command line. */
function run(t: TestContext, settings: Record<string, string>, wrap: (command: string[]) => string[]) {
  const folder = newFolder(t)
  const [program = '', ...argv] = wrap([process.execPath, ENTRY, 'run'])
  const env = bareEnvironment({
    CARTBARN_DATA_DIR: folder,
    CARTBARN_READER_THREADS: '1',
    CARTBARN_HTTP_PORT: '0',
    CARTBARN_MQTT_PORT: '0',
    ...settings,
  })
  // a process group of its own, so that wrappers end with it
  const child = spawn(program, argv, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      printed += chunk
    })
  t.after(async () => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      process.kill(-child.pid, 'SIGKILL')
      await once(child, 'close')
    }
  })
  return { file: join(folder, 'admin-key.txt'), printed: () => printed }
}

/** Wraps the program in a terminal. */
function onTerminal(command: string[]): string[] {
  return ['script', '-qefc', command.join(' '), '/dev/null']
}

const hasTerminal = spawnSync('script', ['-qefc', 'true', '/dev/null']).status === 0
const NAMESPACE = 'ip link set lo up && ip addr add 10.77.0.5/32 dev lo && ip route add default dev lo src 10.77.0.5'
const hasNamespaces = spawnSync('unshare', ['-rn', 'sh', '-c', NAMESPACE]).status === 0

describe('a first start', () => {
  test('names the file if the output is not a terminal, and never prints the code or the key', async (t) => {
    const { file, printed } = run(t, { CARTBARN_HOST: '127.0.0.1' }, (command) => command)
    await eventually(() => /Try:/.test(printed()), 'the banner')
    const code = codeIn(file)
    for (const secret of [code, code.replaceAll('-', ''), keyIn(file), '#setup']) assert.ok(!printed().includes(secret))
    assert.match(printed(), /admin-key\.txt/)
  })

  for (const [host, publicUrl, link] of [
    ['127.0.0.1', undefined, /http:\/\/127\.0\.0\.1:\d+\/app\/#setup=/],
    ['0.0.0.0', 'https://barn.club.example/', /https:\/\/barn\.club\.example\/app\/#setup=/],
  ] as const) {
    test(`shows the link on a terminal, for ${publicUrl ?? host}`, {
      skip: hasTerminal ? false : 'there is no script(1)',
    }, async (t) => {
      const settings = { CARTBARN_HOST: host, ...(publicUrl === undefined ? {} : { CARTBARN_PUBLIC_URL: publicUrl }) }
      const { file, printed } = run(t, settings, onTerminal)
      await eventually(() => /Try:/.test(printed()), 'the banner')
      assert.match(printed(), new RegExp(`${link.source}${codeIn(file).replaceAll('-', '')}\\b`))
    })
  }

  test('shows the address of the default route, in its own network', {
    skip: hasTerminal && hasNamespaces ? false : 'this machine gives no network name space',
  }, async (t) => {
    const inNamespace = (command: string[]) => [
      'unshare',
      '-rn',
      'sh',
      '-c',
      `${NAMESPACE} && exec "$@"`,
      'sh',
      ...onTerminal(command),
    ]
    const { printed } = run(t, { CARTBARN_HOST: '0.0.0.0' }, inNamespace)
    await eventually(() => /Try:/.test(printed()), 'the banner')
    assert.match(printed(), /http:\/\/10\.77\.0\.5:\d+\/app\/#setup=[0-9A-Z]{12}\b/)
  })
})

/** Starts a reverse proxy that terminates TLS and forwards the client address. */
async function startProxy(t: TestContext, g: TestGateway, publicHost: string): Promise<{ url: string; ca: string }> {
  const pair = createKeyPair()
  const { hostname, port } = new URL(g.http)
  const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': publicHost, 'x-forwarded-for': '10.9.8.7' }
  const proxy = createServer(pair, (asked, answer) => {
    const { method = '', url: path = '', headers } = asked
    const onward = plainRequest({ hostname, port, method, path, headers: { ...headers, ...forwarded } }, (got) => {
      answer.writeHead(got.statusCode ?? 500, got.headers)
      got.pipe(answer)
    })
    asked.pipe(onward)
  })
  proxy.on('upgrade', (asked, socket) => {
    const onward = connect(Number(port), hostname, () => {
      const headers = Object.entries({ ...asked.headers, ...forwarded }).map(([name, value]) => `${name}: ${value}\r\n`)
      onward.write(`GET ${asked.url} HTTP/1.1\r\n${headers.join('')}\r\n`)
      socket.pipe(onward).pipe(socket)
    })
    for (const end of [socket, onward]) end.on('error', () => end.destroy())
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.after(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  const address = proxy.address()
  assert.ok(typeof address === 'object' && address !== null)
  return { url: `https://127.0.0.1:${address.port}`, ca: pair.cert }
}

async function send(
  { url, ca }: { url: string; ca: string },
  path: string,
  headers: Record<string, string>,
  body?: object,
) {
  const sent = request(`${url}${path}`, {
    ca,
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
  })
  sent.end(body === undefined ? undefined : JSON.stringify(body))
  const [answer] = await once(sent, 'response')
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk)
  // tests read responses of every shape
  const json = JSON.parse(Buffer.concat(chunks).toString())
  return { status: answer.statusCode, cookie: String(answer.headers['set-cookie'] ?? ''), body: json }
}

for (const [isTrusted, what] of [
  [true, 'is trusted: what it forwards counts'],
  [false, 'is not trusted: only what the gateway sees counts'],
] as const) {
  test(`behind a TLS proxy that ${what}`, async (t) => {
    const g = await startGateway(isTrusted ? { CARTBARN_TRUSTED_PROXIES: '127.0.0.1' } : {})
    t.after(() => g.stop())
    const proxy = await startProxy(t, g, 'barn.club.example')
    const [outside, inside] = ['https://barn.club.example', new URL(proxy.url).host]
    const own = isTrusted ? outside : `http://${inside}`
    const signedIn = await send(proxy, '/sessions', { origin: own }, { api_key: ADMIN_KEY })
    assert.equal(signedIn.status, 201)
    assert.equal(/; Secure/.test(signedIn.cookie), isTrusted)
    const cookie = signedIn.cookie.split(';')[0] ?? ''
    const body = { user_id: signedIn.body.user.user_id, name: 'Tablet' }
    for (const origin of [outside, `http://${inside}`, `https://${inside}`, `${outside}:444`]) {
      const { status, body: answer } = await send(proxy, '/pairing-codes', { cookie, origin }, body)
      if (origin !== own) assert.deepEqual([status, answer.code], [403, 'foreign_origin'])
      else assert.equal(answer.url, `${own}/app/#pair=${answer.code}`)
    }
    const url = `${proxy.url.replace('https', 'wss')}/realtime`
    const trust = { ca: Buffer.from(proxy.ca) }
    const socket = await RealtimeClient.open(url, { cookie, origin: own }, trust)
    assert.equal((await socket.next()).type, 'connected')
    socket.terminate()
    await assert.rejects(RealtimeClient.open(url, { cookie, origin: `${own}1` }, trust), /403/)
  })
}

for (const url of ['barn', 'ftp://barn', 'http://barn/app', 'http://jane@barn', 'http://barn?x', 'https://']) {
  test(`CARTBARN_PUBLIC_URL=${url} is rejected`, () => {
    assert.throws(() => readConfig({ CARTBARN_PUBLIC_URL: url }), /CARTBARN_PUBLIC_URL: must be http/)
  })
}

test('CARTBARN_PUBLIC_URL is used for links and not for the check of Origin', async (t) => {
  const g = await startGateway({ CARTBARN_PUBLIC_URL: 'https://barn.club.example' })
  t.after(() => g.stop())
  const browser = await g.signIn()
  const body = { user_id: (await browser.me()).user.user_id, name: 'Tablet' }
  const { body: made } = await browser.request('POST', '/pairing-codes', { body })
  assert.equal(made.url, `https://barn.club.example/app/#pair=${made.code}`)
  const foreign = await browser.request('POST', '/pairing-codes', {
    body,
    origin: 'https://barn.club.example',
  })
  assert.equal(foreign.status, 403)
})
