import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { eventually } from '#shared/testing/eventually.ts'
import { LINE_GONE } from '../page-faults.ts'
import { createStage } from '../stage.ts'
import type { StagedCart } from '../staged-cart.ts'

const HOUR_MS = 3_600_000
const TIME_ZONE = 'America/New_York'
/** Size of the fleet on a busy day, all unlocked in the barn. */
const CARTS = 34

let carts: StagedCart[] = []

const stage = createStage({
  course: { site: { time_zone: TIME_ZONE } },
  prepare: async ({ course }) => {
    carts = await course.carts(1, CARTS)
    await Promise.all(carts.map((cart) => cart.stands('barn', { isLocked: false })))
    for (const { number } of carts) await course.becomes(number, ({ lock }) => lock?.is_locked === false, 'is open')
  },
})

/** Counts the painted pixels of the carts' canvas. */
function paintedPixels(page: Page): Promise<number> {
  return page.evaluate(`(() => {
    const canvas = document.querySelector('.cart-canvas')
    if (!canvas.width) return 0
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
    let painted = 0
    for (let i = 3; i < data.length; i += 4) if (data[i] > 0) painted++
    return painted
  })()`)
}

stage.test('locking 34 carts together excludes the one that drives off', async (scene) => {
  const { page, open } = scene
  const last = carts.at(-1)
  assert.ok(last)
  await open('/app/#/evening')
  await page.locator('dl > div', { hasText: 'in barn, unlocked' }).getByText(String(CARTS)).waitFor()
  await page.route('**/carts/lock', async (route) => {
    // between the tap and the gateway
    await last.drives('fairway')
    await route.continue()
  })
  await page.getByRole('button', { name: 'Lock all in barn' }).click()
  // depending on timing it may or may not be among the carts to lock
  await page
    .getByRole('status')
    .getByText(/^33 of 3[34] locked$/)
    .waitFor()
  const row = page.getByRole('row', { name: `Cart ${CARTS}`, exact: true })
  await row.getByText('Driving').first().waitFor()
  await row.getByText('Unlocked').waitFor()
  assert.deepEqual(
    carts.filter(({ received }) => received.some(({ cmd }) => cmd === 'lock')).map(({ number }) => number),
    carts.slice(0, -1).map(({ number }) => number),
  )
})

stage.test(
  'a tablet with a wrong clock and time zone shows the ages and times of the course',
  async ({ page, open }) => {
    await page.addInitScript(`{
      const RealDate = Date
      globalThis.Date = class extends RealDate {
        constructor(...parts) { parts.length === 0 ? super(RealDate.now() + ${HOUR_MS}) : super(...parts) }
        static now() { return RealDate.now() + ${HOUR_MS} }
      }
    }`)
    await open('/app/#/map/1')
    await carts[0]?.stands('barn')
    const card = page.getByRole('region', { name: 'Cart 1' })
    await card
      .getByText(/^\d+ s ago$/)
      .first()
      .waitFor()
    const options = { timeZone: TIME_ZONE, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
    const times = [0, 60_000].map((agoMs) => new Intl.DateTimeFormat('en-GB', options).format(Date.now() - agoMs))
    const foot = (await page.getByRole('navigation', { name: 'Screens' }).innerText()).split('\n')
    assert.ok(
      times.some((time) => foot.includes(time)),
      `${foot} has one of ${times}`,
    )
    assert.equal(await page.evaluate('Intl.DateTimeFormat().resolvedOptions().timeZone'), 'Asia/Tokyo')
  },
  { timeZone: 'Asia/Tokyo' },
)

for (const [how, script] of [
  [
    'forbidden',
    `for (const name of ['localStorage', 'sessionStorage', 'indexedDB'])
      Object.defineProperty(window, name, { get() { throw new DOMException('no', 'SecurityError') } })`,
  ],
  ['full', `Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') }`],
] as const) {
  stage.test(`with storage that is ${how}, choices hold until the page is closed`, async (scene) => {
    const { page, open } = scene
    await page.addInitScript(script)
    await open('/app/#/more')
    await page.getByLabel('Language').selectOption('de')
    await page.getByRole('heading', { name: 'Mehr' }).waitFor()
    await page.getByRole('link', { name: 'Karte', exact: true }).click()
    await page.getByRole('heading', { name: 'Zu erledigen' }).waitFor()
    await page.goto(page.url().replace('#/map', '#/more/zones'))
    await page.getByRole('heading', { name: 'Zonen', exact: true }).waitFor()
    await page.goto(page.url().replace('#/more/zones', '#/map'))
    await page.getByRole('heading', { name: 'Zu erledigen' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Needs attention' }).waitFor()
  })
}

stage.test('a browser without WebGL draws the carts', async ({ page, open }) => {
  await page.addInitScript(`{
    const getContext = HTMLCanvasElement.prototype.getContext
    HTMLCanvasElement.prototype.getContext = function (kind, ...others) {
      return kind.includes('webgl') ? null : getContext.call(this, kind, ...others)
    }
  }`)
  await open('/app/#/map')
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor()
  await eventually(async () => (await paintedPixels(page)) > 0, 'carts are drawn', 20_000)
})

stage.test(
  'a tablet that slept for ten hours shows that it is offline, and the current state afterwards',
  async (scene) => {
    const { page, link, open, faults, course } = scene
    faults.forgive(LINE_GONE)
    const [first] = carts
    assert.ok(first)
    await page.clock.install()
    await open('/app/#/map/1')
    const card = page.getByRole('region', { name: 'Cart 1' })
    await card.getByText('In the barn').first().waitFor()
    link.cut()
    await first.drives('fairway')
    await course.becomes('1', ({ state }) => state === 'out', 'out')
    await page.clock.fastForward('10:00:00')
    await page.getByRole('status').getByText('No connection for 10 h').waitFor()
    link.restore()
    await page.evaluate(`dispatchEvent(new Event('pageshow'))`)
    await page.getByRole('status').getByText('No connection for').waitFor({ state: 'detached', timeout: 5_000 })
    await card.getByText('Hole 1').first().waitFor()
  },
)
