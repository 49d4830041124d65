import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { ADMIN_KEY } from '#testing/start-gateway.ts'
import { holdMessages } from '../held-messages.ts'
import { answered } from '../page-faults.ts'
import { createStage } from '../stage.ts'

/** Limit for the data that a new tablet loads until the map is shown. */
const FIRST_LOAD_KB = 180

const stage = createStage({
  prepare: async ({ course }) => {
    await course.cart('17')
    await course.becomes('17', ({ state }) => state === 'in', 'in')
  },
})

stage.eachSetup('a key that is typed in opens the map, and a wrong one is refused with a message', async (scene) => {
  const { page, faults, open, audit } = scene
  // a page without a session requests it, and a wrong key is rejected
  faults.forgive(answered(401))
  await open('/app/', null)
  await page.getByLabel('Key').fill('flt_this_key_opens_nothing_at_all')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').waitFor()
  await audit()
  await page.getByLabel('Key').fill(ADMIN_KEY)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'Map' }).waitFor()
  await audit()
})

stage.test('the first load of a tablet is small', async ({ page, open }) => {
  const loading = new Map<string, Promise<number>>()
  page.on('response', (response) => {
    const { pathname } = new URL(response.url())
    if (pathname.startsWith('/app/')) loading.set(pathname, response.body().then(gzipLength(pathname)))
  })
  // on a slow machine the screens loaded ahead, three seconds later, would count too
  await page.addInitScript(() => {
    const { setTimeout } = globalThis
    const AHEAD_MS = 3_000
    Object.assign(globalThis, {
      setTimeout: (act: () => void, ms?: number) => (ms === AHEAD_MS ? 0 : setTimeout(act, ms)),
    })
  })
  await open('/app/')
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor()
  await page.waitForLoadState('networkidle')
  const sizes = await Promise.all(loading.values())
  const kilobytes = sizes.reduce((sum, size) => sum + size, 0) / 1000
  assert.ok(kilobytes > 100 && kilobytes <= FIRST_LOAD_KB, `${kilobytes} KB in ${[...loading.keys()].join(', ')}`)
})

stage.eachSetup('a cart that is entered before the carts are there opens when they are', async (scene) => {
  const { page, open, audit } = scene
  const release = await holdMessages(page, 'snapshot')
  await open()
  const search = page.getByRole('searchbox', { name: 'Cart number' })
  await search.fill('17')
  await page.getByRole('status').getByText('Loading carts …').waitFor()
  await search.press('Enter')
  await page.getByRole('status').getByText('This one opens next.').waitFor()
  await audit()
  release()
  await page.getByRole('heading', { name: 'Cart 17' }).waitFor()
  assert.equal(await search.inputValue(), '')
})

stage.test('a search for a cart that does not exist yet opens the cart once it does', async (scene) => {
  const { page, course, open } = scene
  await open()
  await page.getByText('Live', { exact: false }).first().waitFor()
  const search = page.getByRole('searchbox', { name: 'Cart number' })
  await search.fill('14')
  await search.press('Enter')
  await page.getByRole('status').getByText('No such cart.').waitFor()
  await course.cart('14')
  await page.getByRole('heading', { name: 'Cart 14' }).waitFor()
})

stage.test('opening another cart cancels the wait for an unknown one', async (scene) => {
  const { page, course, open } = scene
  await open()
  await page.getByText('Live', { exact: false }).first().waitFor()
  const search = page.getByRole('searchbox', { name: 'Cart number' })
  await search.fill('15')
  await search.press('Enter')
  await page.getByRole('status').getByText('No such cart.').waitFor()
  await page.goto(`${page.url().replace(/#.*/, '')}#/map/17`)
  await page.getByRole('heading', { name: 'Cart 17' }).waitFor()
  await course.cart('15')
  await page.getByRole('option', { name: /15/ }).waitFor()
  assert.equal(await page.getByRole('heading', { name: 'Cart 15' }).count(), 0)
})

/** Text of each empty screen, and the place that shows that it is loading. */
const FIRST_SETUPS = {
  map: { none: 'All clear', waits: 'Needs attention' },
  'map/17': { none: 'No cart 17', waits: 'Cart 17' },
  fleet: { none: /No carts yet|No cart in the barn/, waits: 'Next to hand out' },
  evening: { none: /^0$/, waits: 'Evening' },
  alerts: { none: 'No open alerts', waits: 'Alerts' },
  'alerts/recall': { none: 'No recall in progress', waits: 'All carts in' },
}

stage.test('before the carts are loaded no screen shows an empty list', async (scene) => {
  const { page, open } = scene
  const release = await holdMessages(page, 'snapshot')
  for (const [path, { none, waits }] of Object.entries(FIRST_SETUPS)) {
    await open(`/app/#/${path}`)
    await page.getByRole('heading', { name: waits }).first().waitFor()
    await page
      .locator('main')
      .getByText(/Loading …|^–$/)
      .first()
      .waitFor()
    assert.equal(await page.locator('main').getByText(none).count(), 0, path)
  }
  release()
  await page.getByText('No recall in progress').waitFor()
})

/** Returns the size after compression; fonts are already compressed. */
function gzipLength(path: string): (body: Buffer) => number {
  return (body) => (path.endsWith('.woff2') ? body.length : gzipSync(body, { level: 9 }).length)
}
