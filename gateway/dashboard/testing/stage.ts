import { after, before, type TestContext, test } from 'node:test'
import { findChromium, launchChromium } from './chromium.ts'
import { skipReason } from './programs.ts'
import { Scene, type Setting } from './scene.ts'
import { type ScreenSetup, SETUPS } from './screen-setups.ts'
import { type SiteOptions, TestSite } from './test-site.ts'

/*
 * Entry point of this folder: tests of the app in a browser, against a whole gateway. They are in `screens/` next to
 * this file and not next to the screens, because they run in Node and are checked with Node's types.
 *
 *     // gateway/dashboard/testing/screens/cart.test.ts
 *     const stage = createStage({ prepare: async ({ course }) => void (await course.cart('17')) })
 *
 *     stage.eachSetup('a cart is locked from its card', async ({ page, course, open, audit }) => {
 *       await open('/app/', 'staff')
 *       await page.getByRole('searchbox', { name: 'Cart number' }).fill('17')
 *       await page.getByRole('button', { name: 'Lock', exact: true }).click()
 *       await page.getByRole('status').getByText(/^Locked at/).waitFor()
 *       await audit()
 *     })
 *
 * Chromium, gateway and `prepare` are started once for a file, in which tests run one after the other; each gets its
 * own browser profile. Locators wait automatically, `course.becomes` waits for the gateway, and nothing sleeps. A test
 * fails when its page has a console error, an uncaught error, a violation of the policy, a request to another host or
 * one without a response (its screenshot is kept, and the fault printed). A test excludes the faults that it provokes:
 * `faults.forgive(answered(401))`, `faults.forgive(LINE_GONE)`. `link` cuts and freezes the network, `other()` is a
 * second tablet, `startSimulatedFleet` starts the demo's carts. Each file needs a browser, so there is only one file
 * for each screen.
 */

/** Test function; it receives its scene and may destructure it. */
type Act = (scene: Scene) => Promise<void>

/** Creates the stage of a test file. Without Chromium its tests are skipped, unless `CI` is set. */
export function createStage(options: SiteOptions = {}): Stage {
  const missing = findChromium() === undefined ? 'Chromium is not installed' : undefined
  const stage = new Stage(options, skipReason(missing))
  stage.register()
  return stage
}

class Stage {
  readonly #options: SiteOptions
  readonly #skip: string | false
  readonly #stops: (() => Promise<unknown>)[] = []
  #setting: Setting | undefined

  constructor(options: SiteOptions, skip: string | false) {
    this.#options = options
    this.#skip = skip
  }

  register(): void {
    if (this.#skip !== false) return
    before(() => this.#start())
    after(async () => {
      for (const stop of this.#stops.splice(0).toReversed()) await stop()
    })
  }

  /** Defines a test, by default on a tablet in landscape in the light scheme. */
  test(name: string, act: Act, setup: Partial<ScreenSetup> = {}): void {
    void test(name, { skip: this.#skip }, (t) => this.#play(t, setup, act))
  }

  /** Defines the same test on a tablet and on a phone, in light and in dark (`SETUPS`). */
  eachSetup(name: string, act: Act): void {
    for (const setup of SETUPS) this.test(`${name} (${setup.size}, ${setup.scheme})`, act, setup)
  }

  async #start(): Promise<void> {
    const site = await TestSite.start(this.#options)
    this.#stops.push(() => site.stop())
    const browser = await launchChromium()
    this.#stops.push(() => browser.close())
    this.#setting = { browser, site }
  }

  async #play(t: TestContext, setup: Partial<ScreenSetup>, act: Act): Promise<void> {
    if (this.#setting === undefined) throw new Error('the stage was not started')
    const scene = await Scene.set(this.#setting, setup)
    try {
      await act(scene)
      await scene.assertFaultless()
    } catch (error) {
      for (const fault of scene.faults.found) t.diagnostic(fault)
      t.diagnostic(`pictures: ${await scene.keepPictures(t.name)}`)
      throw error
    } finally {
      this.#setting.site.link.restore()
      await scene.close()
    }
  }
}
