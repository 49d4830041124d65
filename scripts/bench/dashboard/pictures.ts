// npm run pictures [-- FOLDER [LANGUAGE]]: takes the pictures of docs/dashboard.md, of a simulated course. Smaller
// where pngquant is installed. Those in another language serve to check that its texts fit.
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { buildApp } from '#dashboard/testing/app-build.ts'
import { launchChromium, openContext } from '#dashboard/testing/chromium.ts'
import { ALL_SETUPS, type ScreenSetup } from '#dashboard/testing/screen-setups.ts'
import { startSimulatedFleet } from '#dashboard/testing/simulated-fleet.ts'
import { EXIT } from '#scripts/cli/command.ts'
import { runOnWorkbench } from '#scripts/rig/processes.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { openPage, signIn } from './environment.ts'

const CARTS = 24
/** Days of history for the day of a cart, the replay and the reports. */
const PAST_DAYS = 2
/** Time limit until something of each kind has happened to carts: low, outside, silent. */
const LIMIT_MS = 420_000
/** Short alert times, to shorten the wait. */
const SOON = { silent_after_s: 60, rest_after_s: 20 }
/** Time for fonts, tiles and elements that slide into place. */
const SETTLE_MS = 2_000
/** True unless the page shows one of its waiting texts; a report of a week takes a while on a busy machine. */
const IS_THERE = '!/Calculating|Loading|Wird berechnet|Wird geladen/.test(document.body.innerText)'
const ANSWER_MS = 30_000
const CHECK_EVERY_MS = 200

/** Screens below "More" whose pictures have the names of their paths. */
const MORE =
  'pace replay reports zones cart-path course barn devices groups people tablets site notify storage sync mqtt damage'
/** Every screen of a user who is signed in, with its hash in the app. */
const SCREENS: Readonly<Record<string, string>> = {
  map: '#/map',
  cart: '#/map/7',
  fleet: '#/fleet',
  evening: '#/evening',
  alerts: '#/alerts',
  more: '#/more',
  ...Object.fromEntries(MORE.split(' ').map((path) => [path, pageOf(path)])),
  day: pageOf('day/7'),
  batteries: pageOf('reports/batteries'),
  traffic: pageOf('reports/traffic'),
  silence: pageOf('reports/silence'),
  device: pageOf('devices/id/sim-tb-008'),
  import: pageOf('devices/import'),
  audit: pageOf('audit-log'),
}
/** Vision emulations: the map without colours, and on a screen in the sun. */
const EYES = { 'no-colour': 'achromatopsia', glare: 'reducedContrast' } as const

await runOnWorkbench('pictures', async (_, [folder = 'docs/pictures', language = 'en']) => {
  mkdirSync(folder, { recursive: true })
  const gateway = await startGateway({}, { dashboardDir: await buildApp(), isTimeSynchronized: () => true })
  const fleet = startSimulatedFleet(gateway, { carts: CARTS, pastDays: PAST_DAYS })
  const browser = await launchChromium()
  try {
    printProgress('waiting until something has happened to carts: some four minutes')
    const isSetUp = async () => (await gateway.request('GET', '/site')).body.name !== ''
    await waitUntil(isSetUp, LIMIT_MS, 100)
    await gateway.request('PATCH', '/site', { body: { ...SOON, language } })
    if (!(await waitUntil(() => isLively(gateway), LIMIT_MS, 1000)))
      printProgress('not every kind of event has happened to the carts; taking the pictures anyway')
    for (const setup of ALL_SETUPS) await takeAll(browser, gateway, setup, folder)
    await takeWithOtherEyes(browser, gateway, folder)
  } finally {
    await browser.close()
    await fleet.stop()
    await gateway.stop()
  }
  return EXIT.ok
})

function pageOf(rest: string): string {
  return `#/more/${encodeURIComponent(rest)}`
}

/** True if there is something of each kind to show. */
async function isLively(gateway: TestGateway): Promise<boolean> {
  const { counts } = (await gateway.request('GET', '/carts')).body
  const { alerts } = (await gateway.request('GET', '/alerts?state=open')).body
  return counts.in > 0 && counts.moving > 0 && counts.low + counts.silent + counts.outside > 1 && alerts.length > 0
}

async function takeAll(browser: Browser, { http }: TestGateway, setup: ScreenSetup, folder: string): Promise<void> {
  const context = await openContext(browser, setup)
  const page = await context.newPage()
  const takeScreen = (name: string) => take(page, join(folder, `${setup.size}-${setup.scheme}-${name}.png`))
  await page.goto(`${http}/app/`)
  await takeScreen('sign-in')
  await signIn(context, http, ADMIN_KEY)
  // another hash alone does not load the page again
  await page.goto('about:blank')
  for (const [name, hash] of Object.entries(SCREENS)) {
    await page.goto(`${http}/app/${hash}`)
    await takeScreen(name)
  }
  await context.close()
}

async function takeWithOtherEyes(browser: Browser, { http }: TestGateway, folder: string): Promise<void> {
  const { page, cdp } = await openPage(browser, http, ADMIN_KEY)
  await page.goto(`${http}/app/#/map`)
  for (const [name, type] of Object.entries(EYES)) {
    await cdp.send('Emulation.setEmulatedVisionDeficiency', { type })
    await take(page, join(folder, `map-${name}.png`))
  }
  await page.context().close()
}

async function take(page: Page, path: string): Promise<void> {
  await page.evaluate('document.fonts.ready.then(() => undefined)')
  // polled from here: the page's content security policy forbids Playwright to poll on its own
  await waitUntil(async () => (await page.evaluate(IS_THERE)) === true, ANSWER_MS, CHECK_EVERY_MS)
  await sleep(SETTLE_MS)
  await page.screenshot({ path })
  // a palette suffices for pictures with few colours, and takes a third of the bytes
  spawnSync('pngquant', ['--quality=70-95', '--strip', '--force', '--output', path, '--', path])
  printProgress(path)
}
