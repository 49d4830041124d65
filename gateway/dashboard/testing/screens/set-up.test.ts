import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { backUp } from '#gateway/offline/backups.ts'
import { freePort } from '#shared/testing/free-port.ts'
import { FilePlace } from '#store/backups/file-place.ts'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { buildApp } from '../app-build.ts'
import { assertAccessible } from '../audit.ts'
import { openContext } from '../chromium.ts'
import { answered, LINE_GONE, PageFaults } from '../page-faults.ts'
import type { Scene } from '../scene.ts'
import { createStage } from '../stage.ts'

const stage = createStage()
const FORBIDDEN_STORAGE = `for (const name of ['localStorage', 'sessionStorage'])
  Object.defineProperty(window, name, { get() { throw new DOMException('no', 'SecurityError') } })`
const PIN = '4711'
const PASSPHRASE = 'nineteenth'
const COURSE = JSON.stringify({
  type: 'FeatureCollection',
  features: [
    {
      type: 'Feature',
      properties: { golf: 'hole', ref: '1' },
      geometry: {
        type: 'LineString',
        coordinates: [
          [-121.949, 36.568],
          [-121.948, 36.569],
        ],
      },
    },
  ],
})
/** Time for a restore and its restart on a busy machine. */
const RESTART_MS = 60_000

interface FirstStart {
  gateway: TestGateway
  tablet: BrowserContext
  page: Page
  faults: PageFaults
  code: string
}

/** Starts a new gateway, and a tablet of this setup that has not opened it yet. */
async function firstStart({ context, setup }: Scene, act: (start: FirstStart) => Promise<void>): Promise<void> {
  const dashboardDir = await buildApp()
  // a restore keeps the address
  const settings = { CARTBARN_ADMIN_API_KEY: '', CARTBARN_HTTP_PORT: String(await freePort()) }
  const gateway = await startGateway(settings, { dashboardDir })
  const browser = context.browser()
  assert.ok(browser)
  const tablet = await openContext(browser, { ...setup, timeZone: 'Europe/Berlin' })
  try {
    const page = await tablet.newPage()
    const faults = await PageFaults.watch(page, gateway.http)
    const file = readFileSync(join(gateway.config.dataDir, 'admin-key.txt'), 'utf8')
    const [, code = ''] = /setup code: (\S+)/.exec(file) ?? []
    await act({ gateway, tablet, page, faults, code })
    await faults.assertNone()
  } finally {
    await tablet.close()
    await gateway.stop()
  }
}

const click = (page: Page, name: string) => page.getByRole('button', { name }).click()

stage.eachSetup('the first start sets up the course, a PIN, the position and a personal key', (scene) =>
  firstStart(scene, async ({ gateway, page, faults, code }) => {
    faults.forgive(answered(401))
    await page.goto(`${gateway.http}/app/`)
    // without a code no request can be approved
    await page.getByText(`The code is in ${join(gateway.config.dataDir, 'admin-key.txt')}`).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Request access' }).count(), 0)
    const typed = page.getByLabel('Setup code')
    await typed.fill(code.slice(0, -1))
    assert.equal(await typed.getAttribute('type'), 'text')
    await click(page, 'Sign in')
    await page.getByText('A code has 12 characters.').waitFor()
    await assertAccessible(page)
    await typed.fill(code)
    await click(page, 'Sign in')

    await page.getByRole('textbox', { name: 'Course name' }).fill('Pebble Creek')
    assert.equal(await page.getByLabel('Country').locator('option:checked').innerText(), 'Germany')
    const timeZone = page.getByLabel('Time zone')
    assert.equal(await timeZone.inputValue(), 'Europe/Berlin')
    await page.getByLabel('Country').selectOption('United States')
    assert.equal(await timeZone.inputValue(), '')
    assert.equal(await page.getByLabel('Units').inputValue(), 'imperial')
    await timeZone.fill('Pebble Beach')
    await click(page, 'Next')
    await page.getByText('No time zone has this city.').waitFor()
    await assertAccessible(page)
    await timeZone.fill('los angeles')
    await click(page, 'Next')

    await page.getByText('Step 2 of 4').waitFor()
    await page.reload()
    await click(page, 'Back')
    assert.equal(await page.getByRole('textbox', { name: 'Course name' }).inputValue(), 'Pebble Creek')
    await click(page, 'Next')
    await page.getByLabel('Your PIN').fill('47')
    await click(page, 'Next')
    await page.getByText('A PIN has 4 to 6 digits.').waitFor()
    await assertAccessible(page)
    await page.getByLabel('Your PIN').fill(PIN)
    await click(page, 'Next')

    await page.getByText('Step 3 of 4').waitFor()
    await page.reload()
    await page.getByLabel('Coordinates').fill('Monterey')
    await click(page, 'Next')
    await page.getByText('Not valid coordinates.').waitFor()
    await assertAccessible(page)
    await page.getByLabel('Coordinates').fill('36.5682, -121.9487')
    const drawing = page.locator('input[type=file]')
    await drawing.setInputFiles({ name: 'wrong.geojson', mimeType: 'text/plain', buffer: Buffer.from('a map') })
    await click(page, 'Next')
    await page.getByRole('alert').getByText('GeoJSON').waitFor()
    await drawing.setInputFiles({ name: 'course.geojson', mimeType: 'text/plain', buffer: Buffer.from(COURSE) })
    await page.getByText('course.geojson').waitFor()
    await click(page, 'Next')

    const key = page.locator('output')
    const before = await key.innerText()
    // reloaded before the key was saved
    await page.reload()
    await page.getByText('This key is new').waitFor()
    assert.notEqual(await key.innerText(), before)
    const saving = page.waitForEvent('download')
    await click(page, 'Save to file')
    const apiKey = await key.innerText()
    assert.match(readFileSync(await (await saving).path(), 'utf8'), new RegExp(`^${apiKey}$`, 'm'))
    await click(page, 'Copy')
    await page.getByText('Copied.').waitFor()
    await page.getByText('QR code').click()
    await page.getByRole('img', { name: 'QR' }).waitFor()
    await assertAccessible(page)
    await click(page, 'I have saved it')
    await page.getByRole('link', { name: 'Map' }).waitFor()

    const { body: people } = await gateway.request('GET', '/people', { key: apiKey })
    assert.deepEqual([people.length, people[0]?.role], [1, 'admin'])
    const { body: site } = await gateway.request('GET', '/site', { key: apiKey })
    assert.deepEqual(
      [site.name, site.time_zone, site.units, site.location],
      ['Pebble Creek', 'America/Los_Angeles', 'imperial', { lat: 36.5682, long: -121.9487 }],
    )
    const { body: course } = await gateway.request('GET', '/course', { key: apiKey })
    assert.equal(course.counts.holes, 1)
    // the map opens at the position
    await page.goto(`${gateway.http}/app/#/more/barn`)
    await page.getByRole('button', { name: 'Place barn here' }).click()
    await page.getByLabel('Radius').waitFor()
  }),
)

stage.test('a browser without cookies says so before it uses the code', (scene) =>
  firstStart(scene, async ({ gateway, tablet, page, code }) => {
    const devTools = await tablet.newCDPSession(page)
    await devTools.send('Emulation.setDocumentCookieDisabled', { disabled: true })
    await page.goto(`${gateway.http}/app/#setup=${code}`)
    await page.getByText('Sign-in needs cookies, which this browser blocks').waitFor()
    await devTools.send('Emulation.setDocumentCookieDisabled', { disabled: false })
    await click(page, 'Try again')
    await page.getByRole('textbox', { name: 'Course name' }).waitFor()
    assert.ok(!page.url().includes(code), 'the code has left the address')
  }),
)

stage.test('a browser without storage says so before it uses the code, and may sign in', (scene) =>
  firstStart(scene, async ({ gateway, page, code }) => {
    const requests: string[] = []
    page.on('request', (request) => requests.push(`${request.method()} ${new URL(request.url()).pathname}`))
    await page.addInitScript(FORBIDDEN_STORAGE)
    await page.goto(`${gateway.http}/app/#setup=${code}`)
    await page.getByText('This browser stores no site data').waitFor()
    await assertAccessible(page)
    await click(page, 'Try again')
    await page.getByText('This browser stores no site data').waitFor()
    assert.ok(!requests.some((request) => request.startsWith('POST')), 'the code is not used yet')
    await click(page, 'Sign in anyway')
    await page.getByRole('textbox', { name: 'Course name' }).waitFor()
    assert.ok(!page.url().includes(code), 'the code has left the address')
  }),
)

stage.test('a set-up that a sign-in with the key has ended says so', (scene) =>
  firstStart(scene, async ({ gateway, page, faults, code }) => {
    faults.forgive(answered(401))
    await page.goto(`${gateway.http}/app/#setup=${code}`)
    await page.getByRole('textbox', { name: 'Course name' }).fill('Pebble Creek')
    const [key] = readFileSync(join(gateway.config.dataDir, 'admin-key.txt'), 'utf8').split('\n')
    await gateway.request('POST', '/sessions', { key: null, body: { api_key: key } })
    await click(page, 'Next')
    await page.getByText('Another sign-in has ended this setup.').waitFor()
    await click(page, 'Sign in another way')
    await page.getByLabel('Key').waitFor()
  }),
)

/** Backs up an old course into a file, in a folder that exists for the test. */
async function oldCourse(act: (file: string, url: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-old-'))
  const old = await startGateway()
  try {
    await old.register('cart-1')
    await old.patch('/site', { name: 'Old Course' })
    const file = join(folder, 'old.backup')
    const { dataDir } = old.config
    await backUp({ dataDir, to: FilePlace.toWrite(file), passphrase: PASSPHRASE, atMs: Date.now() })
    await act(file, old.http)
  } finally {
    await old.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

stage.eachSetup('a backup is restored in place of the set-up, from a file', (scene) =>
  oldCourse((file) =>
    firstStart(scene, async ({ gateway, page, faults, code }) => {
      faults.forgive(answered(401), answered(409), answered(503), LINE_GONE)
      await page.goto(`${gateway.http}/app/#setup=${code}`)
      await click(page, 'Restore a backup')
      const where = page.getByLabel('Backup location')
      for (const kind of ['S3 bucket', 'Head office']) {
        await where.selectOption(kind)
        await assertAccessible(page)
      }
      await where.selectOption('A file on this device')
      await page.getByLabel('Choose a backup file').setInputFiles(file)
      await page.getByText('Uploading: 100 %').waitFor()
      const passphrase = page.getByLabel('Passphrase')
      await passphrase.fill('a wrong guess')
      await click(page, 'Find backups')
      await page.getByRole('alert').getByText('passphrase').waitFor()
      await assertAccessible(page)
      await passphrase.fill(PASSPHRASE)
      await click(page, 'Find backups')
      await page.getByText('1 devices, 1 users').waitFor()
      await assertAccessible(page)
      await page.getByRole('button', { name: 'Restore', exact: true }).click()
      await page.getByRole('heading', { name: 'Restored' }).waitFor({ timeout: RESTART_MS })
      await page.getByText(/^State of .*: \d+ rows\.$/).waitFor()
      await assertAccessible(page)
      await page.reload()
      await page.getByRole('heading', { name: 'Restored' }).waitFor()
      await click(page, 'Sign in')
      await page.getByLabel('Key').fill(ADMIN_KEY)
      await click(page, 'Sign in')
      await page.getByRole('link', { name: 'Map' }).waitFor()
      assert.equal((await gateway.get('/site')).body.name, 'Old Course')
    }),
  ),
)

stage.test('a restore that fails leaves the set-up where it was', (scene) =>
  oldCourse((_, url) =>
    firstStart(scene, async ({ gateway, page, faults, code }) => {
      faults.forgive(answered(409), answered(503), LINE_GONE)
      await page.goto(`${gateway.http}/app/#setup=${code}`)
      await click(page, 'Restore a backup')
      await page.getByLabel('Backup location').selectOption('Head office')
      // a gateway is no hub
      await page.getByLabel('Head office address').fill(url)
      await page.getByLabel('Site key').fill(`cbs_north_${'x'.repeat(43)}`)
      await page.getByRole('button', { name: 'Restore', exact: true }).click()
      await page.getByText('Nothing was changed.').waitFor({ timeout: RESTART_MS })
      await assertAccessible(page)
      await click(page, 'Back')
      await page.getByRole('textbox', { name: 'Course name' }).fill('Pebble Creek')
      await click(page, 'Next')
      await page.getByText('Step 2 of 4').waitFor()
    }),
  ),
)
