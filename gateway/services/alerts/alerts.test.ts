import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Caller } from '#domain/access.ts'
import type { ClockState } from '#domain/clock-state.ts'
import { Events, type GatewayEvents } from '#gateway/events.ts'
import { UnavailableError } from '#shared/errors.ts'
import { createLog } from '#shared/log.ts'
import { Calendar } from '#shared/site/opening-hours.ts'
import { DEFAULT_SITE_SETTINGS } from '#shared/site/settings.ts'
import { TimeZone } from '#shared/site/time-zone.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { DAY_MS, MINUTE_MS, toIso } from '#shared/time.ts'
import type { CertificateStatus } from '#shared/tls.ts'
import { Store } from '#store/store.ts'
import { CartDrill } from '#testing/course/cart-drill.ts'
import type { Cart } from '../cart.ts'
import { Alerts } from './alerts.ts'
import type { RuleResult } from './rule.ts'
import { NO_PLAY } from './site-context.ts'

const ADMIN: Caller = { userId: 'a', role: 'admin', allowedHardwareIds: null }
const ANN = { userId: 'a', name: 'Ann' }
const FOREVER = new Calendar(new TimeZone('UTC'), null)

/** Alerts on a real store, of carts made up by a test; published messages are retained as a broker would. */
class Course {
  readonly clock = new FakeClock()
  readonly changes: string[] = []
  readonly retained = new Map<string, string>()
  carts: Cart[] = []
  disk: { state: 'ok' | 'low' | 'critical'; usedBytes: number; budgetBytes: number } = {
    state: 'ok',
    usedBytes: 1,
    budgetBytes: 10,
  }
  backups: { overdue: RuleResult; lastGoodMs: number | null } = { overdue: 'over', lastGoodMs: null }
  certificate: CertificateStatus = { expiresAtMs: this.clock.nowMs() + 300 * DAY_MS, problem: null }
  state: ClockState = 'confirmed'
  users = new Map([['u1', { row: { name: 'Bob' } }]])
  /** Called before each write. */
  onWrite: (write: () => Promise<unknown>) => Promise<unknown> = (write) => write()
  /** Lets the next write reach the disk without a result, as when the writer dies right after the commit. */
  diesAfterNext = false
  writes = 0
  readonly #store: Store
  #events = new Events(createLog('silent'))
  #alerts: Alerts

  private constructor(store: Store) {
    this.#store = store
    this.#alerts = this.#create()
  }

  static async open(t: TestContext): Promise<Course> {
    const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-alerts-'))
    const options = { dataDir, readerThreads: 1, writeQueueRows: 1000 }
    const store = new Store(options, createLog('silent'))
    await store.start()
    const course = new Course(store)
    t.after(async () => {
      await course.alerts.stop()
      await store.stop()
      rmSync(dataDir, { recursive: true, force: true })
    })
    await course.#begin()
    return course
  }

  get alerts(): Alerts {
    return this.#alerts
  }

  get events(): Events {
    return this.#events
  }

  /** Starts again as after a kill: the instance before is not stopped, and does no more work. */
  async restart(): Promise<void> {
    await this.#alerts.stop()
    this.#events = new Events(createLog('silent'))
    this.#alerts = this.#create()
    await this.#begin()
  }

  /** Advances the clock by a second; resolves when the findings are written. */
  async evaluate(seconds = 1): Promise<void> {
    for (let i = 0; i < seconds; i++) {
      this.clock.advance(1000)
      this.#events.emit('cartsEvaluated', { carts: this.carts, nowMs: this.clock.nowMs() })
      await this.settle()
    }
  }

  settle(): Promise<void> {
    return this.#alerts.settle()
  }

  list() {
    const query = { order: 'desc' as const, limit: 1000, offset: 0, ...this.#alerts.scopeOf(ADMIN) }
    return this.#store.readers.run('alerts', query, { owner: 'test' })
  }

  #create(): Alerts {
    const store = this.#store
    return new Alerts({
      commands: { createForEach: () => assert.fail('no call is answered here') },
      events: this.#events,
      course: NO_PLAY,
      clock: this.clock,
      log: createLog('silent'),
      store: {
        read: {
          ...store.read,
          alertMessages: () => [...this.retained].map(([topic, payload]) => ({ topic, payload })),
        },
        readers: store.readers,
        write: ((...args: Parameters<Store['write']>) => {
          this.writes++
          return this.onWrite(async () => {
            if (!this.diesAfterNext) return store.write(...args)
            this.diesAfterNext = false
            await store.write(args[0], args[1])
            throw new UnavailableError('the store stopped while writing')
          })
          // passes everything else to the real store
        }) as Store['write'],
      },
      downlink: {
        prepare: ({ topic, payload }) => ({
          changes: [],
          commit: () => void (payload === '' ? this.retained.delete(topic) : this.retained.set(topic, payload)),
          abandon: () => undefined,
        }),
      },
      site: { settings: { ...DEFAULT_SITE_SETTINGS, pack: PACK }, calendar: FOREVER },
      carts: {
        find: (key) => this.carts.find((cart) => cart.key === key),
        of: (hardwareId) =>
          this.carts.find(({ deviceReports }) => deviceReports.some((one) => one.hardwareId === hardwareId)),
      },
      users: { find: (userId) => this.users.get(userId) },
      clockConfirmation: withState(() => this.state),
      diskGuard: withUse(() => this.disk),
      backups: withBackups(() => this.backups),
      certificate: withStatus(() => this.certificate),
      sync: undefined,
    })
  }

  async #begin(): Promise<void> {
    this.#events.on('alertChanged', ({ event, alert }: GatewayEvents['alertChanged']) =>
      this.changes.push(`${event} ${alert.kind} ${alert.cart ?? 'site'}`),
    )
    this.#alerts.load()
    await this.#alerts.start()
  }
}

const PACK = { emptyV: 46, fullV: 51, lowV: 48 }
const withState = (state: () => ClockState) => ({
  get state() {
    return state()
  },
})
const withBackups = (backups: () => Course['backups']) => ({
  get overdue() {
    return backups().overdue
  },
  get status() {
    return { lastGoodMs: backups().lastGoodMs }
  },
})
const withStatus = (status: () => CertificateStatus) => ({
  get status() {
    return status()
  },
})
const withUse = (use: () => Course['disk']) => ({
  get use() {
    return use()
  },
})

/** A cart on the course whose battery has this voltage at rest. */
function cart(key: string, voltageV = 47): Cart {
  const drill = new CartDrill(Date.UTC(2026, 4, 1, 12), { pack: PACK })
  drill.say({ northM: 0, agoS: 3600 })
  drill.say({ northM: 0, voltageV })
  drill.enter('parking', 'boundary')
  return { ...drill.cart, key }
}

const OPENED = 'opened low_battery 17'
const CLOSED = 'closed low_battery 17'

test('one evaluation writes its alerts in one transaction and retains a message for each', async (t) => {
  const course = await Course.open(t)
  course.carts = [cart('17'), cart('18'), cart('cart/19', 50)]
  course.disk = { state: 'low', usedBytes: 9, budgetBytes: 10 }
  await course.evaluate(5)
  assert.equal(course.writes, 1)
  assert.deepEqual(course.changes, [OPENED, 'opened low_battery 18', 'opened disk site'])
  assert.deepEqual([...course.retained.keys()], ['alert/low_battery/17', 'alert/low_battery/18', 'alert/disk/site'])
  const [, , alert] = await course.list()
  assert.deepEqual(JSON.parse(course.retained.get('alert/low_battery/17') ?? '').alert_id, alert?.alertId)
  assert.deepEqual(course.alerts.openAlertIdsOf('17'), [alert?.alertId])
  assert.equal(course.alerts.openAlertIdsOf('17'), course.alerts.openAlertIdsOf('17'))
  assert.deepEqual(course.alerts.openAlertIdsOf('cart/19'), [])
})

test('an alert whose condition ends is closed and its retained message is deleted', async (t) => {
  const course = await Course.open(t)
  course.carts = [cart('a/b #+')]
  await course.evaluate()
  assert.deepEqual([...course.retained.keys()], ['alert/low_battery/a%2Fb%20%23%2B'])
  course.carts = [cart('a/b #+', 49.5)]
  await course.evaluate(3)
  assert.deepEqual(course.changes, ['opened low_battery a/b #+', 'closed low_battery a/b #+'])
  assert.equal(course.retained.size, 0)
  assert.deepEqual(course.alerts.openAlertIdsOf('a/b #+'), [])
})

test('a restart closes, opens and duplicates no alert', async (t) => {
  const course = await Course.open(t)
  course.carts = [cart('17')]
  course.disk = { state: 'low', usedBytes: 9, budgetBytes: 10 }
  await course.evaluate(2)
  await course.restart()
  // the disk has not been measured yet
  course.disk = { state: 'ok', usedBytes: 0, budgetBytes: 0 }
  await course.evaluate(3)
  assert.deepEqual(course.changes, [OPENED, 'opened disk site'])
  assert.equal((await course.list()).length, 2)
  course.disk = { state: 'ok', usedBytes: 1, budgetBytes: 10 }
  await course.evaluate()
  assert.equal(course.changes.at(-1), 'closed disk site')
})

test('a failed write is retried and the alert is published once', async (t) => {
  const course = await Course.open(t)
  course.carts = [cart('17')]
  course.onWrite = () => Promise.reject(new UnavailableError('the store cannot be written'))
  await course.evaluate(3)
  assert.deepEqual([course.changes, course.retained.size], [[], 0])
  course.onWrite = (write) => write()
  await course.evaluate(3)
  assert.deepEqual(course.changes, [OPENED])
})

test('a write with an unknown result opens no second alert', async (t) => {
  const course = await Course.open(t)
  course.carts = [cart('17')]
  course.diesAfterNext = true
  await course.evaluate()
  assert.deepEqual([course.changes, course.retained.size], [[], 0])
  await course.evaluate(3)
  const alerts = await course.list()
  assert.equal(alerts.length, 1)
  assert.equal(JSON.parse(course.retained.get('alert/low_battery/17') ?? '{}').alert_id, alerts[0]?.alertId)
})

test('the start corrects retained messages that do not match the open alerts', async (t) => {
  const course = await Course.open(t)
  course.carts = [cart('17')]
  await course.evaluate()
  const [topic, payload] = [...course.retained][0] ?? assert.fail()
  course.retained.set(topic, '{}')
  course.retained.set('alert/outside/18', '{}')
  await course.restart()
  await course.evaluate(2)
  assert.deepEqual([...course.retained], [[topic, payload]])
  assert.deepEqual(course.changes, [OPENED])
})

test('the alerts of a removed cart are closed with the reason removed', async (t) => {
  const course = await Course.open(t)
  course.carts = [cart('17'), cart('18')]
  await course.evaluate()
  course.carts = [cart('18')]
  course.events.emit('cartRemoved', { key: '17', hardwareIds: ['lock-17'] })
  await course.evaluate(2)
  assert.equal(course.changes.at(-1), CLOSED)
  const removed = (await course.list()).find((alert) => alert.cart === '17')
  assert.equal(removed?.details.reason, 'removed')
  // registered again, it counts as a new cart
  course.carts = [cart('17'), cart('18')]
  await course.evaluate()
  assert.equal(course.changes.at(-1), OPENED)
  // the next start finds what happened during the stop
  await course.restart()
  course.carts = []
  await course.evaluate()
  assert.deepEqual(course.alerts.notClosedFor(ADMIN), [])
})

test('an alert keeps its first acknowledgement, even after it is closed', async (t) => {
  const course = await Course.open(t)
  course.carts = [cart('17')]
  await course.evaluate()
  const [alertId = ''] = course.alerts.openAlertIdsOf('17')
  const first = await course.alerts.acknowledge(() => ADMIN, alertId, ANN, 'on it')
  const second = await course.alerts.acknowledge(() => ADMIN, alertId, { userId: 'b', name: 'Bob' }, 'me too')
  assert.deepEqual(second, first)
  assert.deepEqual([first.acknowledgedBy, first.note], [ANN, 'on it'])
  assert.equal(JSON.parse(course.retained.get('alert/low_battery/17') ?? '').note, 'on it')
  assert.deepEqual(course.changes, [OPENED, 'acknowledged low_battery 17'])
  course.carts = [cart('18')]
  await course.evaluate()
  const other = course.alerts.openAlertIdsOf('18')[0] ?? ''
  course.carts = [cart('18', 50)]
  await course.evaluate()
  const { acknowledgedBy, closedAtMs } = await course.alerts.acknowledge(() => ADMIN, other, ANN, null)
  assert.ok(acknowledgedBy !== null && closedAtMs !== null)
  assert.equal(course.retained.size, 0)
})

test('an alert closed by a user reopens only after its condition has ended once, despite a restart', async (t) => {
  const course = await Course.open(t)
  course.carts = [cart('17')]
  await course.evaluate()
  const [alertId = ''] = course.alerts.openAlertIdsOf('17')
  const closed = await course.alerts.close(() => ADMIN, alertId, ANN, null)
  assert.ok(closed.closedAtMs !== null)
  assert.deepEqual(await course.alerts.close(() => ADMIN, alertId, ANN, 'again'), closed)
  await course.evaluate(3)
  await course.restart()
  await course.evaluate(3)
  assert.deepEqual(course.changes, [OPENED, CLOSED])
  course.carts = [cart('17', 50)]
  await course.evaluate()
  await course.restart()
  course.carts = [cart('17')]
  await course.evaluate()
  assert.deepEqual(course.changes, [OPENED, CLOSED, OPENED])
})

test('concurrent acknowledge and close requests run one after the other during evaluations', async (t) => {
  const course = await Course.open(t)
  course.carts = [cart('17')]
  await course.evaluate()
  const [alertId = ''] = course.alerts.openAlertIdsOf('17')
  const people = Array.from({ length: 10 }, (_, i) => [
    course.alerts.acknowledge(() => ADMIN, alertId, ANN, `note ${i}`),
    course.alerts.close(() => ADMIN, alertId, ANN, null),
  ])
  await Promise.all([...people.flat(), course.evaluate(3)])
  assert.deepEqual(course.changes, [OPENED, 'acknowledged low_battery 17', CLOSED])
})

test('the clock alert opens immediately for an untrusted clock, after 10 min for an unconfirmed one', async (t) => {
  const course = await Course.open(t)
  course.state = 'trusted'
  await course.evaluate()
  course.clock.advance(10 * MINUTE_MS - 4000)
  await course.evaluate()
  assert.deepEqual(course.changes, [])
  await course.evaluate(2)
  assert.deepEqual(course.changes, ['opened clock site'])
  await course.restart()
  await course.evaluate(2)
  course.state = 'confirmed'
  await course.evaluate(2)
  course.state = 'untrusted'
  await course.evaluate(2)
  assert.deepEqual(course.changes, ['opened clock site', 'closed clock site', 'opened clock site'])
})

test('the backup alert gives the time of the last good backup and closes with the next one', async (t) => {
  const course = await Course.open(t)
  const lastGoodMs = course.clock.nowMs()
  course.backups = { overdue: 'unsure', lastGoodMs }
  await course.evaluate(2)
  assert.deepEqual(course.changes, [])
  course.backups = { overdue: 'holds', lastGoodMs }
  await course.evaluate(2)
  const [open] = await course.list()
  assert.deepEqual([open?.kind, open?.cart, open?.details], ['backup', null, { last_good_at: toIso(lastGoodMs) }])
  course.backups = { overdue: 'unsure', lastGoodMs }
  await course.restart()
  await course.evaluate(2)
  assert.deepEqual(course.changes, ['opened backup site'])
  course.backups = { overdue: 'over', lastGoodMs: course.clock.nowMs() }
  await course.evaluate(2)
  assert.deepEqual(course.changes, ['opened backup site', 'closed backup site'])
})

test('pin_locked opens one alert for each locked PIN user and closes it when the lock ends', async (t) => {
  const course = await Course.open(t)
  course.users.set('u2', { row: { name: 'Cid' } })
  const lockedMs = 60 * MINUTE_MS
  for (const userId of ['u1', 'u2', 'gone']) course.events.emit('pinLocked', { userId, lockedMs })
  const until = toIso(course.clock.nowMs() + lockedMs)
  await course.evaluate(3)
  assert.deepEqual(course.changes, ['opened pin_locked site', 'opened pin_locked site'])
  const [, alert] = course.alerts.notClosedFor(ADMIN)
  assert.deepEqual(alert?.details, { user_id: 'u2', name: 'Cid', until })
  const staff: Caller = { userId: 's', role: 'staff', allowedHardwareIds: new Set(['*']) }
  assert.deepEqual(course.alerts.notClosedFor(staff), [])
  await course.restart()
  course.events.emit('pinLocked', { userId: 'u1', lockedMs })
  course.users.delete('u2')
  await course.evaluate(2)
  // the topic has the message of the remaining alert
  assert.equal(JSON.parse(course.retained.get('alert/pin_locked/site') ?? '{}').details.user_id, 'u1')
  course.clock.advance(60 * MINUTE_MS)
  await course.evaluate(2)
  assert.deepEqual(course.alerts.notClosedFor(ADMIN), [])
  assert.equal(course.retained.size, 0)
})

for (const [name, setMs] of [
  ['ahead', 200 * DAY_MS],
  ['back', -200 * DAY_MS],
] as const)
  test(`pin_locked lasts as long as the lock when the clock is set ${name}`, async (t) => {
    const course = await Course.open(t)
    course.events.emit('pinLocked', { userId: 'u1', lockedMs: 60 * MINUTE_MS })
    await course.evaluate(2)
    course.clock.set(course.clock.nowMs() + setMs)
    course.clock.advance(59 * MINUTE_MS)
    await course.evaluate(2)
    assert.deepEqual(course.changes, ['opened pin_locked site'])
    course.clock.advance(MINUTE_MS)
    await course.evaluate(2)
    assert.deepEqual(course.changes, ['opened pin_locked site', 'closed pin_locked site'])
  })

test('one evaluation writes and publishes a thousand alerts', async (t) => {
  const course = await Course.open(t)
  course.carts = Array.from({ length: 1000 }, (_, i) => cart(`cart ${i}`))
  await course.evaluate()
  assert.equal(course.changes.length, 1000)
  // fifty in a transaction, so that none delays other work
  assert.equal(course.writes, 20)
  await course.evaluate(2)
  assert.equal(course.changes.length, 1000)
})

test('evaluating an unchanged cart takes microseconds', async (t) => {
  const course = await Course.open(t)
  course.carts = Array.from({ length: 1000 }, (_, i) => cart(`cart ${i}`, 50))
  await course.evaluate(20)
  const startedAtMs = performance.now()
  await course.evaluate(50)
  const perCartUs = ((performance.now() - startedAtMs) * 1000) / 50 / 1000
  t.diagnostic(`${perCartUs.toFixed(2)} µs a cart`)
  // a few ms on an idle host
  assert.ok(perCartUs < 100, `${perCartUs} µs`)
})

test('the certificate alert opens after 10 minutes of failed renewal, and near a confirmed expiry', async (t) => {
  const course = await Course.open(t)
  const { expiresAtMs } = course.certificate
  course.certificate = { expiresAtMs, problem: 'the disk is full' }
  course.clock.advance(10 * MINUTE_MS)
  await course.evaluate()
  const [open] = await course.list()
  assert.deepEqual(
    [open?.kind, open?.cart, open?.details],
    ['certificate', null, { expires_at: toIso(expiresAtMs), renewed: false }],
  )
  course.certificate = { expiresAtMs, problem: null }
  await course.evaluate()
  course.certificate = { expiresAtMs, problem: 'the disk is full' }
  await course.evaluate(9)
  assert.deepEqual(course.changes, ['opened certificate site', 'closed certificate site'])
  course.certificate = { expiresAtMs: course.clock.nowMs() + 14 * DAY_MS, problem: null }
  course.state = 'trusted'
  await course.evaluate(2)
  assert.equal(course.changes.length, 2)
  course.state = 'confirmed'
  await course.evaluate(2)
  assert.deepEqual(course.changes.slice(2), ['opened certificate site'])
})
