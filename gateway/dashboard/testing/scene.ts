import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { ADMIN_KEY, type TestGateway } from '#testing/start-gateway.ts'
import { assertAccessible } from './audit.ts'
import { openContext } from './chromium.ts'
import { PageFaults } from './page-faults.ts'
import { DEFAULT_SETUP, type ScreenSetup } from './screen-setups.ts'
import type { StagedCourse } from './staged-course.ts'
import type { TestSite } from './test-site.ts'
import type { WeakLink } from './weak-link.ts'

/** Objects that the tests of a file share. */
export interface Setting {
  browser: Browser
  site: TestSite
}

/** Users that tests sign in as: the first admin, and a staff member and a player who see all carts. */
export type Role = 'admin' | 'staff' | 'user'

/** Tablet in a test: one page of a newly installed browser. */
export class Scene {
  readonly gateway: TestGateway
  readonly course: StagedCourse
  readonly link: WeakLink
  readonly setup: ScreenSetup
  readonly page: Page
  readonly context: BrowserContext
  readonly faults: PageFaults
  readonly #setting: Setting
  readonly #others: Scene[] = []
  #signedInAs: Role | null = null

  private constructor(setting: Setting, parts: Pick<Scene, 'setup' | 'page' | 'context' | 'faults'>) {
    this.#setting = setting
    const { gateway, course, link } = setting.site
    this.gateway = gateway
    this.course = course
    this.link = link
    this.setup = parts.setup
    this.page = parts.page
    this.context = parts.context
    this.faults = parts.faults
  }

  static async set(setting: Setting, setup: Partial<ScreenSetup> = {}): Promise<Scene> {
    const context = await openContext(setting.browser, setup)
    const page = await context.newPage()
    const faults = await PageFaults.watch(page, setting.site.link.url)
    return new Scene(setting, { setup: { ...DEFAULT_SETUP, ...setup }, page, context, faults })
  }

  // arrow functions, because tests destructure the scene
  /** Opens another tablet at the same gateway. */
  readonly other = async (setup: Partial<ScreenSetup> = this.setup): Promise<Scene> => {
    const other = await Scene.set(this.#setting, setup)
    this.#others.push(other)
    return other
  }

  /** Opens a page, signed in with this role; null leaves the browser's session as it is. */
  readonly open = async (path = '/app/', as: Role | null = 'staff'): Promise<void> => {
    // the page that is open would report that its session has ended, and might sign the new one out
    if (as !== null && !(await this.#isSignedIn(as))) await this.signIn(as)
    await this.page.goto(`${this.link.url}${path}`)
  }

  /** Signs the browser in without the page. */
  readonly signIn = async (as: Role): Promise<void> => {
    const { url } = this.link
    const answer = await this.context.request.post(`${url}/sessions`, {
      data: { api_key: await this.#keyOf(as) },
      headers: { origin: url },
    })
    if (answer.status() !== 201) throw new Error(`not signed in: ${await answer.text()}`)
    this.#signedInAs = as
  }

  /** Fails on findings of axe-core for the current page. */
  readonly audit = (): Promise<void> => assertAccessible(this.page)

  /** Throws if a page had a fault. */
  async assertFaultless(): Promise<void> {
    for (const { faults } of [this, ...this.#others]) await faults.assertNone()
  }

  async close(): Promise<void> {
    for (const { context } of [this, ...this.#others]) await context.close()
  }

  /** Saves pictures of all pages for the analysis of a failure; returns the path. */
  async keepPictures(name: string): Promise<string> {
    const folder = join(tmpdir(), 'cartbarn-failed-pages')
    mkdirSync(folder, { recursive: true })
    const paths = [this, ...this.#others].map((_, i) => join(folder, `${name.replace(/\W+/g, '-')}-${i + 1}.png`))
    for (const [i, { page }] of [this, ...this.#others].entries())
      await page.screenshot({ path: paths[i] ?? '' }).catch(() => undefined)
    return paths.join(', ')
  }

  /** True if the browser's session is the one of the last sign-in, with this role and without a PIN user. */
  async #isSignedIn(as: Role): Promise<boolean> {
    if (this.#signedInAs !== as) return false
    const answer = await this.context.request.get(`${this.link.url}/me`)
    if (!answer.ok()) return false
    const { role, session } = await answer.json()
    return role === as && session !== null && session.person === null
  }

  async #keyOf(role: Role): Promise<string> {
    if (role === 'admin') return ADMIN_KEY
    const fields = { name: `A ${role}`, role, allowed_hardware_ids: ['*'] }
    return (await this.gateway.createUser(fields)).key
  }
}
