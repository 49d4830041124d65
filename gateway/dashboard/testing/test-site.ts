import type { Overrides } from '#gateway/services.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { buildApp } from './app-build.ts'
import { type CourseOptions, StagedCourse } from './staged-course.ts'
import { WeakLink } from './weak-link.ts'

/** Options for starting a site. */
export interface SiteOptions {
  /** Settings of the gateway. */
  settings?: Record<string, string>
  overrides?: Overrides
  course?: CourseOptions
  /** Called once, before the first test. */
  prepare?: (site: TestSite) => Promise<void>
}

/** Gateway with a course that serves the app of this checkout over a network that can fail. */
export class TestSite {
  readonly gateway: TestGateway
  readonly course: StagedCourse
  /** Network between browsers and the gateway. */
  readonly link: WeakLink

  private constructor(gateway: TestGateway, course: StagedCourse, link: WeakLink) {
    this.gateway = gateway
    this.course = course
    this.link = link
  }

  static async start({ settings, overrides, course: options, prepare }: SiteOptions = {}): Promise<TestSite> {
    const dashboardDir = await buildApp()
    const gateway = await startGateway(settings, { dashboardDir, ...overrides })
    const link = new WeakLink(() => Number(new URL(gateway.http).port))
    const site = new TestSite(gateway, new StagedCourse(gateway, overrides?.clock), link)
    try {
      await link.start()
      await site.course.open(options)
      await prepare?.(site)
      return site
    } catch (error) {
      await site.stop()
      throw error
    }
  }

  async stop(): Promise<void> {
    await this.link.stop()
    await this.gateway.stop()
  }
}
