import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core'
import { buildApp } from '#dashboard/testing/app-build.ts'
import { launchChromium, openContext } from '#dashboard/testing/chromium.ts'
import type { ScreenSetup } from '#dashboard/testing/screen-setups.ts'
import { WeakLink } from '#dashboard/testing/weak-link.ts'
import { ForkedScript } from '#scripts/rig/calls.ts'
import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { must, registerCarts } from '#scripts/rig/staff-course.ts'
import type { CartFunctions } from './carts.ts'
import { drawCourse } from './course.ts'

/** Number of carts on the map in the full and the short form. */
const CARTS = { full: 500, short: 50 }

/** Page of the app, with its DevTools session. */
export interface OpenPage {
  context: BrowserContext
  page: Page
  cdp: CDPSession
}

/** Gateway with a course full of carts, and a Chromium that is signed in over a link that can be cut. */
export class DashboardEnvironment {
  readonly carts: ForkedScript<CartFunctions>
  readonly count: number
  readonly link: WeakLink
  readonly apiKey: string
  readonly dataDir: string
  gateway: GatewayProcess
  readonly #browser: Browser

  private constructor(
    parts: Pick<DashboardEnvironment, 'carts' | 'count' | 'link' | 'apiKey' | 'dataDir' | 'gateway'>,
    browser: Browser,
  ) {
    this.carts = parts.carts
    this.count = parts.count
    this.link = parts.link
    this.apiKey = parts.apiKey
    this.dataDir = parts.dataDir
    this.gateway = parts.gateway
    this.#browser = browser
  }

  /** Resolves when all carts have reported and are driving. */
  static async lay({ bench, entry, isShort }: ScenarioContext): Promise<DashboardEnvironment> {
    const count = isShort ? CARTS.short : CARTS.full
    await buildApp()
    const dataDir = bench.createFolder('dashboard')
    const gateway = await startGateway(bench, { entry, dataDir })
    await drawCourse(gateway, count)
    const devices = await registerCarts(gateway, { count, deviceType: 'teebox', id: 'cart' })
    const carts = new ForkedScript<CartFunctions>(bench, 'carts', new URL('./carts.ts', import.meta.url))
    await carts.call('connect', gateway.ports.mqtt, devices)
    await carts.call('drive')
    const user = { name: 'Shop', role: 'staff', allowed_hardware_ids: ['*'] }
    const { api_key: apiKey } = await must(gateway, 'POST', '/users', user)
    const { ports } = gateway
    const link = new WeakLink(() => ports.http)
    await link.start()
    const browser = await launchChromium()
    return new DashboardEnvironment({ carts, count, link, apiKey, dataDir, gateway }, browser)
  }

  /** Opens a browser that is signed in and has not loaded the app yet. */
  async openPage(setup: Partial<ScreenSetup> = {}, apiKey = this.apiKey): Promise<OpenPage> {
    const context = await openContext(this.#browser, setup)
    const { url } = this.link
    const answer = await context.request.post(`${url}/sessions`, {
      data: { api_key: apiKey },
      headers: { origin: url },
    })
    if (answer.status() !== 201) throw new Error(`not signed in: ${await answer.text()}`)
    const page = await context.newPage()
    return { context, page, cdp: await context.newCDPSession(page) }
  }

  /** Opens a screen and waits until it shows all carts. */
  async show({ page }: OpenPage, screen: 'Map' | 'Fleet'): Promise<void> {
    if (!page.url().startsWith(this.link.url)) await page.goto(`${this.link.url}/app/`)
    await page.getByRole('link', { name: screen }).click()
    if (screen === 'Map') await page.locator('canvas').first().waitFor()
    else await page.getByRole('table').getByRole('row').nth(1).waitFor()
  }

  async clear(): Promise<void> {
    await this.#browser.close()
    await this.link.stop()
    await Promise.all([this.carts.stop(), this.gateway.process.stop()])
  }
}
