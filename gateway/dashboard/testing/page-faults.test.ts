import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { eventually } from '#shared/testing/eventually.ts'
import { assertAccessible, audit } from './audit.ts'
import { findChromium, launchChromium, openContext } from './chromium.ts'
import { answered, PageFaults } from './page-faults.ts'
import { skipReason } from './programs.ts'
import type { ScreenSetup } from './screen-setups.ts'

const skip = skipReason(findChromium() === undefined ? 'Chromium is not installed' : undefined)
const POLICY = "default-src 'none'; script-src 'self'; connect-src 'self' http://localhost:1; style-src 'self'"

const SCRIPTS: Record<string, string> = {
  good: `fetch('/found')`,
  talkative: `console.error('so bad'); console.warn('not so bad')`,
  throwing: `setTimeout(() => { throw new Error('lost') })`,
  foreign: `fetch('http://localhost:1/elsewhere').catch(() => undefined)`,
  styled: `document.body.innerHTML = '<p style="color: red">a</p>'`,
  'asking for what is not there': `fetch('/missing')`,
  'waiting for ever': `fetch('/never')`,
}

let browser: Browser
let server: Server

/** Serves pages, each with the single script that its name selects. */
function serve(): Server {
  return createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const name = decodeURIComponent(pathname.slice(1)).replace(/\.js$/, '')
    if (pathname === '/never') return
    if (pathname.endsWith('.js')) response.setHeader('content-type', 'text/javascript').end(SCRIPTS[name])
    else if (name in SCRIPTS)
      response
        .writeHead(200, { 'content-type': 'text/html', 'content-security-policy': POLICY })
        .end(`<!doctype html><html lang="en"><title>A page</title><body><script src="/${name}.js"></script>`)
    else response.writeHead(name === 'found' ? 200 : 404).end('ok')
  })
}

before(async () => {
  if (skip !== false) return
  server = serve().listen(0, '127.0.0.1')
  await once(server, 'listening')
  browser = await launchChromium()
})

after(async () => {
  if (skip !== false) return
  await browser.close()
  server.closeAllConnections()
  server.close()
})

async function openPage(t: TestContext, setup: Partial<ScreenSetup> = {}): Promise<Page> {
  const context = await openContext(browser, setup)
  t.after(() => context.close())
  return context.newPage()
}

/** Opens the page of this name; resolves when it has loaded. */
async function watch(t: TestContext, name: string, forgiven: RegExp[] = []): Promise<PageFaults> {
  const { port } = server.address() as AddressInfo
  const page = await openPage(t)
  const origin = `http://127.0.0.1:${port}`
  const faults = await PageFaults.watch(page, origin)
  faults.forgive(/favicon/, ...forgiven)
  await page.goto(`${origin}/${encodeURIComponent(name)}`)
  return faults
}

const FOUND: [name: string, fault: RegExp][] = [
  ['talkative', /^console: so bad \(.*talkative\.js\)$/],
  ['throwing', /^uncaught: Error: lost/],
  ['foreign', /^a request to another host: http:\/\/localhost:1\/elsewhere/m],
  ['styled', /policy: style-src-attr forbids inline/],
  ['asking for what is not there', /^console: .* a status of 404/],
]

for (const [name, fault] of FOUND) {
  test(`a page that is ${name} is detected`, { skip }, async (t) => {
    const faults = await watch(t, name)
    await eventually(() => fault.test(faults.found.join('\n')), `found: ${fault}`)
    await assert.rejects(faults.assertNone(), /^Error: the page did what it must not:/)
  })
}

test('a page that never gets a response is detected', { skip }, async (t) => {
  const faults = await watch(t, 'waiting for ever')
  await assert.rejects(faults.assertNone(200), /no answer: GET http.*\/never/)
})

test('a good page has no fault, and a page with forgiven faults has none either', { skip }, async (t) => {
  await (await watch(t, 'good')).assertNone()
  await (await watch(t, 'asking for what is not there', [answered(404)])).assertNone()
})

test('an audit finds accessibility problems, in the colours of the theme', { skip }, async (t) => {
  const ink = 'body { background: light-dark(#fff, #333) } p { color: light-dark(#000, #3a3a3a) }'
  const html = `<!doctype html><html lang="en"><title>A page</title>
    <style>:root { color-scheme: light dark } ${ink}</style><main><h1>A</h1><p>Hello</p><button></button></main>`
  const light = await openPage(t)
  await light.setContent(html)
  assert.match((await audit(light)).join(), /^button-name [^,]*<button><\/button>/)
  const dark = await openPage(t, { scheme: 'dark' })
  await dark.setContent(html)
  await assert.rejects(assertAccessible(dark), /^Error: 2 violations.*color-contrast.*<p>Hello<\/p>/s)
})

test('a page has the size, scheme, language and time zone of its settings', { skip }, async (t) => {
  const page = await openPage(t, { size: 'phone', scheme: 'dark', locale: 'de-DE', timeZone: 'Asia/Tokyo' })
  const text = await page.evaluate(
    `[innerWidth, innerHeight, matchMedia('(prefers-color-scheme: dark)').matches, navigator.language,
      new Intl.DateTimeFormat().resolvedOptions().timeZone]`,
  )
  assert.deepEqual(text, [390, 844, true, 'de-DE', 'Asia/Tokyo'])
})
