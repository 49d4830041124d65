import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import type { AlertJson } from '#shared/wire/alerts.ts'
import { startGateway, type TestGateway, TICK_MS } from '../start-gateway.ts'
import { Course, type CourseDevice } from './course.ts'

const NOON = Date.UTC(2026, 4, 1, 12)
const PACK = { empty_v: 46, full_v: 51, low_v: 48 }
const HOURS = Object.fromEntries(
  ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'].map((day) => [day, ['07:00', '20:00']]),
)

/** Gateway with a course that is open from 07:00 to 20:00, and a cart 17 with the lock `lock-17`. */
export class AlertCourse {
  readonly clock: FakeClock
  readonly gateway: TestGateway
  readonly course: Course

  private constructor(gateway: TestGateway, clock: FakeClock) {
    this.gateway = gateway
    this.clock = clock
    this.course = new Course(gateway, clock)
  }

  static async open(
    t: TestContext,
    nowMs = NOON,
    { site = {}, isTimeSynchronized = () => true }: { site?: object; isTimeSynchronized?: () => boolean } = {},
  ): Promise<AlertCourse> {
    const clock = new FakeClock(nowMs)
    const gateway = await startGateway({}, { clock, isTimeSynchronized })
    t.after(() => gateway.stop())
    const course = new AlertCourse(gateway, clock)
    await course.site({ pack: PACK, opening_hours: HOURS, ...site })
    await course.course.group(7)
    return course
  }

  async site(settings: object): Promise<void> {
    const { status, body } = await this.gateway.request('PATCH', '/site', { body: settings })
    assert.equal(status, 200, JSON.stringify(body))
  }

  lock(cart = '17', hardwareId = `lock-${cart}`): Promise<CourseDevice> {
    return this.course.device(hardwareId, { cart, groupId: 7 })
  }

  async list(query = '', key?: string): Promise<AlertJson[]> {
    const { status, body } = await this.gateway.request('GET', `/alerts${query}`, key === undefined ? {} : { key })
    assert.equal(status, 200, JSON.stringify(body))
    return body.alerts
  }

  /** Returns the alerts, oldest first, as `+outside`, or `-outside` if closed. */
  async story(query = ''): Promise<string[]> {
    return (await this.list(query)).map(({ kind, closed_at }) => `${closed_at === null ? '+' : '-'}${kind}`).reverse()
  }

  async becomes(expected: string[], query = ''): Promise<void> {
    let story: string[] = []
    const is = async () => {
      story = await this.story(query)
      return JSON.stringify(story) === JSON.stringify(expected)
    }
    await eventually(is, `${expected}`).catch(() => assert.deepEqual(story, expected))
  }

  /** Resolves after two evaluations, because one without a result leaves no trace. */
  async settle(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 4 * TICK_MS))
  }
}
