import type { Browser, BrowserContext, Page } from 'playwright-core'
import { buildApp } from '#dashboard/testing/app-build.ts'
import { launchChromium, openContext } from '#dashboard/testing/chromium.ts'
import { WeakLink } from '#dashboard/testing/weak-link.ts'
import { ForkedScript } from '#scripts/rig/calls.ts'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import type { CartFunctions } from './carts.ts'
import { drawCourse } from './simulated-course.ts'

/** Number of carts on the map in the full and the short form. */
const CARTS = { full: 500, short: 50 }

/** Opens a gateway with a course full of driving carts, and a Chromium that reaches it over a link that can be cut. */
export async function openDashboard({ bench, entry, isShort }: ScenarioContext) {
  const count = isShort ? CARTS.short : CARTS.full
  await buildApp()
  const dataDir = bench.createFolder('dashboard')
  const gateway = await startGateway(bench, { entry, dataDir })
  const { ports } = gateway
  await drawCourse(gateway.api, count)
  const devices = await gateway.api.registerCarts(count)
  const carts = new ForkedScript<CartFunctions>(bench, new URL('./carts.ts', import.meta.url))
  await carts.call('drive', ports.mqtt, devices)
  const apiKey = await gateway.api.createShop()
  const link = new WeakLink(() => ports.http)
  await link.start()
  const browser = await launchChromium()
  const opened = {
    count,
    carts,
    apiKey,
    link,
    gateway,
    appUrl: `${link.url}/app/`,
    openPage: (key = apiKey) => openPage(browser, link.url, key),
    restart: async () => {
      opened.gateway = await startGateway(bench, { entry, dataDir, ports })
    },
    clear: async () => {
      await browser.close()
      await link.stop()
      await Promise.all([carts.stop(), opened.gateway.process.stop()])
    },
  }
  return opened
}

/** Opens a page that is signed in and has not loaded the app yet, with its DevTools session. */
export async function openPage(browser: Browser, url: string, apiKey: string) {
  const context = await openContext(browser)
  await signIn(context, url, apiKey)
  const page = await context.newPage()
  return { page, cdp: await context.newCDPSession(page) }
}

export async function signIn({ request }: BrowserContext, url: string, apiKey: string): Promise<void> {
  const sent = { data: { api_key: apiKey }, headers: { origin: url } }
  await request.post(`${url}/sessions`, { ...sent, failOnStatusCode: true })
}

/** Goes to a screen of the app and waits until it is shown. */
export async function show(page: Page, screen: 'Map' | 'Fleet'): Promise<void> {
  await page.getByRole('link', { name: screen }).click()
  const shown = screen === 'Map' ? page.getByRole('searchbox') : page.getByRole('table').getByRole('row').nth(1)
  await shown.waitFor()
}
