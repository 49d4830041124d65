import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { readConfig } from '#gateway/config.ts'
import { createAuthority, issueLeaf, readAuthority } from '#shared/authority/authority.ts'
import { AuthorityFolder } from '#shared/authority/authority-folder.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { buildApp } from '../app-build.ts'
import { assertAccessible } from '../audit.ts'
import { findChromium } from '../chromium.ts'
import { LINE_GONE, PageFaults } from '../page-faults.ts'
import { skipReason } from '../programs.ts'
import { CLUBHOUSE, findCertutil, TabletHome } from '../tablet-home.ts'
import { WeakLink } from '../weak-link.ts'

// Gateway whose TLS is enabled while tablets use it: one that trusts its authority, and one that does not. Each test
// continues from the previous one.

const skip = skipReason(
  findChromium() === undefined || findCertutil() === undefined
    ? 'Chromium or certutil (libnss3-tools) is not installed'
    : undefined,
)
const NOT_TRUSTED = /ERR_CERT_AUTHORITY_INVALID/
const AUTHORITY = createAuthority([CLUBHOUSE], Date.now())

/** Over plain HTTP browsers lack these functions; here a page that calls one gets an error. */
const TRAPS = `if (location.protocol === 'http:') {
  for (const name of ['wakeLock', 'serviceWorker', 'clipboard', 'mediaDevices', 'geolocation'])
    Object.defineProperty(Navigator.prototype, name, { configurable: true, get() { console.error('asked for ' + name) } })
  crypto.randomUUID = () => { console.error('asked for randomUUID') }
}`
/** Counts, over TLS, the screen wake locks requested and released. */
const COUNT_LOCKS = `if (location.protocol === 'https:') {
  globalThis.locks = { given: 0, let_go: 0 }
  const ask = navigator.wakeLock.request.bind(navigator.wakeLock)
  navigator.wakeLock.request = async (kind) => {
    const lock = await ask(kind)
    locks.given++
    lock.addEventListener('release', () => locks.let_go++)
    return lock
  }
}`

let gateway: TestGateway
let link: WeakLink
let plainUrl: string
let secureUrl: string
const trusting = new TabletHome()
const other = new TabletHome()
const open: BrowserContext[] = []

/** Opens a page of one of the two tablets. */
async function newPage(context: BrowserContext | undefined): Promise<{ page: Page; faults: PageFaults }> {
  assert.ok(context !== undefined)
  const page = await context.newPage()
  const faults = await PageFaults.watch(page, plainUrl)
  await page.addInitScript(TRAPS)
  await page.addInitScript(COUNT_LOCKS)
  return { page, faults }
}

async function signIn(page: Page): Promise<void> {
  await page.goto(`${plainUrl}/app/`)
  await page.getByRole('button', { name: 'Deutsch' }).click()
  await page.getByLabel('Schlüssel').fill(ADMIN_KEY)
  await page.getByRole('button', { name: 'Anmelden' }).click()
  await page.getByText('live').first().waitFor()
}

const sessionCookie = async (context: BrowserContext | undefined) =>
  (await context?.cookies(secureUrl))?.find(({ name }) => name === 'cartbarn_session')

describe('a gateway whose TLS is turned on', { skip }, () => {
  before(async () => {
    gateway = await startGateway({}, { dashboardDir: await buildApp() })
    link = new WeakLink(() => Number(new URL(gateway.http).port))
    await link.start()
    plainUrl = link.url.replace('127.0.0.1', CLUBHOUSE)
    secureUrl = plainUrl.replace('http:', 'https:')
    trusting.trust(readAuthority(AUTHORITY).certificate)
    open.push(await trusting.open(), await other.open())
  })

  after(async () => {
    await Promise.all([trusting.remove(), other.remove()])
    await link.stop()
    await gateway.stop()
  })

  test('moves open pages to TLS signed in; an untrusting tablet continues, with the guide', async () => {
    const [tablet, stranger] = [await newPage(open[0]), await newPage(open[1])]
    // the tablet that must be asked was used last: in the other order it might move automatically
    for (const { page, faults } of [stranger, tablet]) {
      faults.forgive(LINE_GONE)
      await signIn(page)
      await page.getByRole('link', { name: 'Flotte' }).click()
    }
    assert.equal((await sessionCookie(open[0]))?.secure, false)
    stranger.faults.forgive(NOT_TRUSTED)
    await gateway.restart(() => {
      const { dataDir } = gateway.config
      new AuthorityFolder(dataDir).writeAuthority(AUTHORITY)
      Object.assign(gateway.config, { tls: readConfig({ CARTBARN_DATA_DIR: dataDir }).tls })
    })

    await tablet.page.getByRole('button', { name: 'Umschalten' }).click()
    await tablet.page.waitForURL(`${secureUrl}/app/#/fleet`)
    await tablet.page.getByText('live').first().waitFor()
    await tablet.page.getByRole('heading', { name: 'Flotte' }).waitFor()
    assert.equal((await sessionCookie(open[0]))?.secure, true)
    await tablet.faults.assertNone()
    await tablet.page.close()

    const guide = stranger.page.getByRole('link', { name: 'Anleitung' })
    await guide.waitFor()
    await stranger.page.getByText('live').first().waitFor()
    assert.equal(stranger.page.url(), `${plainUrl}/app/#/fleet`)
    await stranger.faults.assertNone()
    await guide.click()
    await stranger.page.getByRole('heading', { name: 'Android' }).waitFor()
    assert.equal(stranger.page.url(), `${plainUrl}/trust`)
    await stranger.page.close()
  })

  test('redirects an old address to TLS automatically, with the tablet signed in', async () => {
    const { page, faults } = await newPage(open[0])
    await page.goto(`${plainUrl}/app/#/alerts`)
    await page.waitForURL(`${secureUrl}/app/#/alerts`)
    await page.getByText('live').first().waitFor()
    await faults.assertNone()
    await page.close()
  })

  test('allows the app to be installed, and to keep the screen on while the map is open', async () => {
    const { page, faults } = await newPage(open[0])
    await page.goto(`${secureUrl}/app/`)
    await page.getByRole('searchbox').waitFor()
    const has = (locks: string) => async () => JSON.stringify(await page.evaluate('locks')) === locks
    await eventually(has('{"given":1,"let_go":0}'), 'the screen is kept on')
    await page.getByRole('link', { name: 'Flotte' }).click()
    await page.getByRole('heading', { name: 'Flotte' }).waitFor()
    await eventually(has('{"given":1,"let_go":1}'), 'the screen may go off')
    const chromium = await page.context().newCDPSession(page)
    const { installabilityErrors } = await chromium.send('Page.getInstallabilityErrors')
    assert.deepEqual(installabilityErrors, [])
    const { url, errors } = await chromium.send('Page.getAppManifest')
    assert.deepEqual([url, errors], [`${secureUrl}/app/manifest.webmanifest`, []])
    await faults.assertNone()
    await page.close()
  })

  test('shows an admin the links for new tablets, and the clients that still use plain HTTP', async () => {
    const { page, faults } = await newPage(open[0])
    await page.goto(`${secureUrl}/app/#/more/encryption`)
    const { fingerprint256 } = new X509Certificate(AUTHORITY)
    await page.getByText(fingerprint256).waitFor()
    await page.getByRole('img', { name: 'QR' }).waitFor()
    await page.getByRole('link', { name: `${plainUrl}/trust` }).waitFor()
    await page.getByText('Tablet browser').first().waitFor()
    await assertAccessible(page)
    const answer = await page.context().request.get(`${link.url}/trust/cartbarn.crt`)
    assert.equal(new X509Certificate(await answer.body()).fingerprint256, fingerprint256)
    await faults.assertNone()
    await page.close()
  })

  test('shows the trust page to a user who pairs a tablet over TLS', async () => {
    const { page, faults } = await newPage(open[0])
    await page.goto(`${secureUrl}/app/#/more/tablets`)
    await page.getByLabel('Tablet-Name').fill('Starter')
    await page.getByRole('button', { name: 'Code erstellen' }).click()
    await page.getByRole('img', { name: 'QR' }).waitFor()
    await page.getByText('dort zuerst diese Seite öffnen').waitFor()
    await page.getByRole('link', { name: `${plainUrl}/trust` }).waitFor()
    await assertAccessible(page)
    await faults.assertNone()
    await page.close()
  })

  test('cannot sign certificates for foreign names that Chromium accepts', async (t) => {
    const authority = readAuthority(AUTHORITY)
    const issue = (name: string) =>
      issueLeaf({ ...authority, names: [name] }, { names: [name], addresses: [] }, Date.now())
    const page = await open[0]?.newPage()
    for (const [name, refusal] of [
      [`app.${CLUBHOUSE}`, null],
      ['bank.example', /ERR_CERT_INVALID/],
    ] as const) {
      const leaf = issue(name)
      const server = createServer({ cert: leaf, key: leaf }, (_, response) => response.end('hello')).listen(0)
      t.after(() => server.close())
      await once(server, 'listening')
      const went = page?.goto(`https://${name}:${(server.address() as AddressInfo).port}/`)
      if (refusal === null) assert.equal((await went)?.status(), 200)
      else await assert.rejects(async () => await went, refusal)
      server.closeAllConnections()
    }
  })
})
