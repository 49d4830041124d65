import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { ADMIN_KEY, type TestGateway } from '#testing/start-gateway.ts'
import { assertAccessible } from './audit.ts'
import { openContext } from './chromium.ts'
import { type Look, USUAL_LOOK } from './looks.ts'
import { PageFaults } from './page-faults.ts'
import type { StagedCourse } from './staged-course.ts'
import type { TestSite } from './test-site.ts'
import type { WeakLink } from './weak-link.ts'

/** What the tests of a file share. */
export interface Setting {
  browser: Browser
  site: TestSite
}

/** Who may be signed in: the first admin, and a staff member and a user that see all carts. */
export type Role = 'admin' | 'staff' | 'user'

/** A tablet in a test: one page of a browser that has just been installed. */
export class Scene {
  readonly gateway: TestGateway
  readonly course: StagedCourse
  readonly link: WeakLink
  readonly look: Look
  readonly page: Page
  readonly context: BrowserContext
  readonly faults: PageFaults
  readonly #setting: Setting
  readonly #others: Scene[] = []

  private constructor(setting: Setting, parts: Pick<Scene, 'look' | 'page' | 'context' | 'faults'>) {
    this.#setting = setting
    const { gateway, course, link } = setting.site
    this.gateway = gateway
    this.course = course
    this.link = link
    this.look = parts.look
    this.page = parts.page
    this.context = parts.context
    this.faults = parts.faults
  }

  static async set(setting: Setting, look: Partial<Look> = {}): Promise<Scene> {
    const context = await openContext(setting.browser, look)
    const page = await context.newPage()
    const faults = await PageFaults.watch(page, setting.site.link.url)
    return new Scene(setting, { look: { ...USUAL_LOOK, ...look }, page, context, faults })
  }

  // functions of their own, because tests take them out of the scene
  /** Another tablet at the same gateway. */
  readonly other = async (look: Partial<Look> = this.look): Promise<Scene> => {
    const other = await Scene.set(this.#setting, look)
    this.#others.push(other)
    return other
  }

  /** Goes to a page, signed in as one of these; null leaves the browser as it is. */
  readonly open = async (path = '/app/', as: Role | null = 'staff'): Promise<void> => {
    if (as !== null) await this.signIn(as)
    await this.page.goto(`${this.link.url}${path}`)
  }

  /** Signs the browser in behind the page's back. */
  readonly signIn = async (as: Role): Promise<void> => {
    const { url } = this.link
    const answer = await this.context.request.post(`${url}/sessions`, {
      data: { api_key: await this.#keyOf(as) },
      headers: { origin: url },
    })
    if (answer.status() !== 201) throw new Error(`not signed in: ${await answer.text()}`)
  }

  /** Fails on what axe-core finds on the page as it is. */
  readonly audit = (): Promise<void> => assertAccessible(this.page)

  /** Throws when a page did what it must not. */
  async assertFaultless(): Promise<void> {
    for (const { faults } of [this, ...this.#others]) await faults.assertNone()
  }

  async close(): Promise<void> {
    for (const { context } of [this, ...this.#others]) await context.close()
  }

  /** Pictures of all pages as they are, for who looks into a failure; returns where. */
  async keepPictures(name: string): Promise<string> {
    const folder = join(tmpdir(), 'cartbarn-failed-pages')
    mkdirSync(folder, { recursive: true })
    const paths = [this, ...this.#others].map((_, i) => join(folder, `${name.replace(/\W+/g, '-')}-${i + 1}.png`))
    for (const [i, { page }] of [this, ...this.#others].entries())
      await page.screenshot({ path: paths[i] ?? '' }).catch(() => undefined)
    return paths.join(', ')
  }

  async #keyOf(role: Role): Promise<string> {
    if (role === 'admin') return ADMIN_KEY
    const fields = { name: `A ${role}`, role, allowed_hardware_ids: ['*'] }
    return (await this.gateway.createUser(fields)).key
  }
}
