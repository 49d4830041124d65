import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { ok } from '#testing/scene.ts'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'

const PAGE = '<!doctype html><title>the app</title>'
const SCRIPT = `export const names = [${"'cart', ".repeat(500)}]`
const [SCRIPT_PATH, FONT_PATH] = ['/app/assets/index-Bc_-123x.js', '/app/assets/text-0123abcd.woff2']
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; " +
  "connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; " +
  "frame-ancestors 'none'"
const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

function createFolder(t?: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-app-'))
  t?.after(() => rmSync(folder, { recursive: true }))
  return folder
}

/** Writes the files that a build writes. */
function writeBuild(folder: string, page = PAGE): void {
  const files: Record<string, Buffer> = {
    'index.html': Buffer.from(page),
    'assets/index-Bc_-123x.js': Buffer.from(SCRIPT),
    'assets/index-Bc_-123x.js.br': brotliCompressSync(SCRIPT),
    'assets/index-Bc_-123x.js.gz': gzipSync(SCRIPT),
    'assets/text-0123abcd.woff2': Buffer.of(0, 1, 2, 255),
    'icon.svg': Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
    'manifest.webmanifest': Buffer.from('{"name":"cartbarn"}'),
  }
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  const sum = (content: Buffer) => createHash('sha256').update(content).digest('hex')
  const sums = Object.fromEntries(Object.entries(files).map(([name, content]) => [name, sum(content)]))
  writeFileSync(join(folder, 'build.json'), JSON.stringify({ sources: 'x', files: sums }))
}

/** Sends a request over a socket, so that no client adds or removes anything. */
async function ask({ http }: TestGateway, path: string, headers: Record<string, string> = {}, method = 'GET') {
  const { hostname, port } = new URL(http)
  const asked = request({ hostname, port, path, method, headers })
  asked.end()
  const [answer] = await once(asked, 'response')
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk)
  const { 'x-content-type-options': sniff, 'referrer-policy': referrer } = answer.headers
  assert.deepEqual([sniff, referrer], ['nosniff', 'no-referrer'], path)
  const body = Buffer.concat(chunks)
  return { status: Number(answer.statusCode), headers: answer.headers, body, text: body.toString() }
}

describe('a gateway whose app is built', () => {
  let g: TestGateway
  const folder = createFolder()

  before(async () => {
    writeBuild(folder)
    g = await startGateway({}, { dashboardDir: folder })
  })
  after(async () => {
    await g.stop()
    rmSync(folder, { recursive: true })
  })

  test('serves its page without a key, with a policy that blocks all other origins', async () => {
    const { status, headers, text } = await ask(g, '/app/')
    assert.deepEqual(
      [status, text, headers['content-type'], headers['content-security-policy']],
      [200, PAGE, 'text/html; charset=utf-8', POLICY],
    )
    assert.equal(headers['content-length'], String(PAGE.length))
  })

  test('makes browsers revalidate the page each time, and sends it when it has changed', async () => {
    const { headers } = await ask(g, '/app/')
    assert.equal(headers['cache-control'], 'no-cache')
    const etag = String(headers.etag)
    for (const tags of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const again = await ask(g, '/app/', { 'if-none-match': tags })
      assert.deepEqual([again.status, again.text, again.headers.etag], [304, '', etag], tags)
      assert.equal(again.headers['cache-control'], 'no-cache')
    }
    await ok(ask(g, '/app/', { 'if-none-match': '"another"' }))
  })

  test('lets browsers cache files with a content hash in their name', async () => {
    for (const path of [SCRIPT_PATH, FONT_PATH])
      assert.equal((await ask(g, path)).headers['cache-control'], 'public, max-age=31536000, immutable', path)
    for (const path of ['/app/icon.svg', '/app/manifest.webmanifest'])
      assert.equal((await ask(g, path)).headers['cache-control'], 'no-cache', path)
  })

  for (const [path, type, policy] of [
    [SCRIPT_PATH, 'text/javascript; charset=utf-8', undefined],
    [FONT_PATH, 'font/woff2', undefined],
    // browsers show it as a document, with its scripts
    ['/app/icon.svg', 'image/svg+xml', POLICY],
    ['/app/manifest.webmanifest', 'application/manifest+json', undefined],
  ] as const)
    test(`sends ${path} as ${type}, ${policy ? 'with' : 'without'} the policy of the app`, async () => {
      const { status, headers } = await ask(g, path)
      assert.deepEqual([status, headers['content-type'], headers['content-security-policy']], [200, type, policy])
      const size = Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + `${value}`.length + 4, 0)
      assert.ok(policy !== undefined || size < 500, `${size} bytes of headers`)
    })

  for (const [accepted, encoding, unpack] of [
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['br;q=0.1, gzip', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['br;q=0, GZIP;q=0.5', 'gzip', gunzipSync],
    ['deflate, zstd', undefined, undefined],
    ['gzip;q=0, br;q=0.0', undefined, undefined],
    ['*', undefined, undefined],
    ['', undefined, undefined],
  ] as const)
    test(`serves Accept-Encoding "${accepted}" as ${encoding ?? 'the file as it is'}`, async () => {
      const answer = await ask(g, SCRIPT_PATH, { 'accept-encoding': accepted })
      const { headers, body } = answer
      assert.equal(headers['content-encoding'], encoding)
      assert.match(String(headers.vary), /\bAccept-Encoding\b/)
      assert.equal(headers['content-length'], String(body.length))
      assert.equal((unpack?.(body) ?? body).toString(), SCRIPT)
      const again = await ask(g, SCRIPT_PATH, { 'accept-encoding': accepted, 'if-none-match': String(headers.etag) })
      assert.deepEqual([again.status, again.headers.etag], [304, headers.etag])
    })

  test('gives each encoding a tag of its own', async () => {
    const encodings = ['br', 'gzip', 'identity']
    const answers = await Promise.all(encodings.map((encoding) => ask(g, SCRIPT_PATH, { 'accept-encoding': encoding })))
    assert.equal(new Set(answers.map(({ headers }) => headers.etag)).size, 3)
  })

  test('responds to HEAD as to GET, without the content', async () => {
    for (const path of ['/app/', SCRIPT_PATH, FONT_PATH]) {
      const accepted = { 'accept-encoding': 'br' }
      const [got, head] = [await ask(g, path, accepted), await ask(g, path, accepted, 'HEAD')]
      assert.deepEqual([head.status, head.body.length], [200, 0])
      for (const name of ['content-length', 'content-encoding', 'content-type', 'etag', 'cache-control'])
        assert.equal(head.headers[name], got.headers[name], `${path}: ${name}`)
    }
  })

  test('is 404 for unknown paths and serves nothing outside the folder', async () => {
    for (const path of [
      '/app/nothing',
      '/app/assets/index-00000000.js',
      '/app/assets/',
      '/app/assets',
      '/app//',
      '/app/app/',
      // manifest for the gateway only
      '/app/build.json',
      '/app/index.html',
      `${SCRIPT_PATH}.br`,
      `${SCRIPT_PATH}.gz`,
      '/app/..%2fbuild.json',
      '/app/..%5cbuild.json',
      '/app/%00',
      '/app/__proto__',
      '/app/%',
      '/app/icon.svg%00.html',
      `/app/${'x'.repeat(10_000)}`,
    ]) {
      const { status, headers, text } = await ask(g, path)
      assert.deepEqual([status, headers['content-type']], [404, 'application/problem+json'], path.slice(0, 60))
      assert.equal(JSON.parse(text).code, 'not_found')
      assert.equal(headers['cache-control'], 'no-store')
    }
    for (const path of ['/app/../build.json', '/app/%2e%2e/%2e%2e/package.json', '/app/../../etc/passwd', '/apps/'])
      assert.equal((await ask(g, path)).status, 401, path)
  })

  test('rejects other methods without a key and is 404 with one', async () => {
    assert.equal((await ask(g, '/app/', {}, 'POST')).status, 401)
    assert.equal((await ask(g, '/app/', { 'x-api-key': ADMIN_KEY }, 'DELETE')).status, 404)
  })

  test('redirects browsers from / and /app to the app, and programs nowhere', async () => {
    for (const path of ['/', '/app', '/app?x=1']) {
      const { status, headers } = await ask(g, path, BROWSER)
      assert.deepEqual([status, headers.location], [302, '/app/'], path)
    }
    for (const accept of ['*/*', 'application/json', 'text/html;q=0, */*', undefined]) {
      const headers: Record<string, string> = accept === undefined ? {} : { accept }
      const { status, text } = await ask(g, '/', headers)
      assert.deepEqual([status, JSON.parse(text).code], [401, 'missing_api_key'], accept)
      const known = await ask(g, '/', { ...headers, 'x-api-key': ADMIN_KEY })
      assert.deepEqual([known.status, JSON.parse(known.text).code], [404, 'not_found'], accept)
    }
    assert.equal((await ask(g, '/', { ...BROWSER, 'x-api-key': ADMIN_KEY }, 'POST')).status, 404)
  })

  test('keeps the version it has started with while another is built', async () => {
    writeBuild(folder, '<!doctype html><title>another</title>')
    assert.equal((await ask(g, '/app/')).text, PAGE)
    await g.restart()
    assert.match((await ask(g, '/app/')).text, /another/)
    writeBuild(folder)
  })
})

describe('a gateway whose app is not built', () => {
  /** Starts a gateway; `folder` is the place of a build. */
  async function start(t: TestContext, folder: string): Promise<TestGateway> {
    const g = await startGateway({}, { dashboardDir: folder })
    t.after(() => g.stop())
    return g
  }

  test('explains at /app/ how to build it, as unavailable, and loads nothing', async (t) => {
    const g = await start(t, createFolder(t))
    const { status, headers, text } = await ask(g, '/app/')
    assert.deepEqual([status, headers['content-type']], [503, 'text/html; charset=UTF-8'])
    assert.match(text, /npm run build:app/)
    assert.match(String(headers['content-security-policy']), /^default-src 'none'; style-src 'sha256-/)
    assert.doesNotMatch(text, /\ssrc=|@import|url\(|http:/)
    assert.equal((await ask(g, SCRIPT_PATH)).status, 404)
  })

  test('shows browsers at / its version and health, and gives programs the usual responses', async (t) => {
    const g = await start(t, createFolder(t))
    const { status, headers, text } = await ask(g, '/', BROWSER)
    assert.deepEqual([status, headers['cache-control']], [200, 'no-store'])
    assert.match(text, /<h1>cartbarn<\/h1>/)
    assert.match(text, /version \d+\.\d+\.\d+/)
    assert.match(text, /href="\/health">ok</)
    assert.match(text, /href="\/docs"/)
    assert.equal((await ask(g, '/')).status, 401)
    assert.equal((await ask(g, '/', { 'x-api-key': ADMIN_KEY })).status, 404)
  })

  test('serves the app as soon as it is built', async (t) => {
    const folder = createFolder(t)
    const g = await start(t, folder)
    assert.equal((await ask(g, '/app/')).status, 503)
    writeBuild(folder)
    assert.deepEqual([(await ask(g, '/app/')).text, (await ask(g, '/', BROWSER)).status], [PAGE, 302])
  })

  for (const [what, damage] of [
    ['a file is empty', (folder: string) => writeFileSync(join(folder, 'assets/index-Bc_-123x.js.gz'), '')],
    ['a file is missing', (folder: string) => rmSync(join(folder, 'icon.svg'))],
    ['its list is not a list', (folder: string) => writeFileSync(join(folder, 'build.json'), '{"files":')],
  ] as const)
    test(`treats a build as missing when ${what}`, async (t) => {
      const folder = createFolder(t)
      writeBuild(folder)
      damage(folder)
      const g = await start(t, folder)
      assert.equal((await ask(g, '/app/')).status, 503)
      await ok(ask(g, '/health'))
      writeBuild(folder)
      await ok(ask(g, '/app/'))
    })
})
