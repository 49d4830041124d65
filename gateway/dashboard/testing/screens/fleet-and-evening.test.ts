import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createStage } from '../stage.ts'
import type { StagedCart } from '../staged-cart.ts'

/** Hostile name of the maximum length, 16 characters. */
const HOSTILE = '<b>"Öl"</b>ש 🏌'

let open: StagedCart[] = []
let left: StagedCart

const stage = createStage({
  prepare: async ({ course }) => {
    await course.carts(1, 3)
    open = await course.carts(11, 13)
    left = await course.cart('20')
    await course.cart('99')
    await course.gateway.request('PATCH', '/devices/teebox-99', { body: { cart: HOSTILE } })
    await left.drives('fairway')
    for (const cart of open) await cart.stands('barn', { isLocked: false })
    await course.becomes('20', ({ state }) => state === 'out', 'is out')
    for (const { number } of open) await course.becomes(number, ({ lock }) => lock?.is_locked === false, 'is open')
  },
})

stage.eachSetup('the fleet has a row for each cart, what matters first', async ({ page, open, audit }) => {
  await open('/app/#/fleet')
  const table = page.getByRole('table', { name: 'Fleet' })
  const row = (name: string) => table.getByRole('row', { name, exact: true })
  await row('Cart 20').waitFor()
  await row(`Cart ${HOSTILE}`).waitFor()
  assert.match((await row('Cart 20').textContent()) ?? '', /Hole 1/)
  await row('Cart 11').getByText('Unlocked in barn').waitFor()
  await page.getByRole('region', { name: 'Next to hand out' }).getByRole('listitem').nth(4).waitFor()
  await audit()
  await page.getByLabel('Show').selectOption('Unlocked in barn')
  await row('Cart 20').waitFor({ state: 'detached' })
  assert.equal(await table.getByRole('row', { name: /^Cart 1[123]$/ }).count(), 3)
  assert.match(await page.title(), /^Fleet · /)
  await row('Cart 12').getByRole('link').click()
  await page.getByRole('heading', { name: 'Cart 12' }).waitFor()
  await audit()
  await page.reload()
  await page.getByRole('heading', { name: 'Cart 12' }).waitFor()
  await page.getByRole('button', { name: 'Close' }).click()
  await row('Cart 11').waitFor()
  assert.equal(await row('Cart 20').count(), 0, 'the filter is kept')
})

stage.test('a column sorts the fleet, and Back and a reload keep the order', async ({ page, open }) => {
  await open('/app/#/fleet')
  const table = page.getByRole('table', { name: 'Fleet' })
  const labels = () => table.locator('tbody tr').evaluateAll((rows) => rows.map((row) => row.ariaLabel))
  const head = table.getByRole('button', { name: 'Cart' })
  await head.click()
  await table.locator('[aria-sort=ascending]').waitFor()
  assert.deepEqual((await labels()).slice(1, 3), ['Cart 1', 'Cart 2'])
  await head.click()
  await table.locator('[aria-sort=descending]').waitFor()
  assert.deepEqual((await labels()).slice(0, 2), ['Cart 20', 'Cart 13'])
  await page.getByRole('link', { name: 'Map' }).first().click()
  await page.goBack()
  await page.locator('[aria-sort=descending]').waitFor()
  await page.reload()
  await page.locator('[aria-sort=descending]').waitFor()
})

stage.test('an unknown address says so', async ({ page, open }) => {
  await open('/app/#/flett')
  await page.getByRole('status').getByText('No page').waitFor()
  await page.getByRole('link', { name: 'To the map' }).click()
  await page.getByRole('searchbox', { name: 'Cart number' }).waitFor()
})

stage.test('the fleet is saved as CSV', async ({ page, open }) => {
  await open('/app/#/fleet')
  await page.getByRole('row', { name: 'Cart 20', exact: true }).waitFor()
  const downloaded = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export CSV' }).click()
  const download = await downloaded
  assert.equal(download.suggestedFilename(), 'fleet.csv')
  const rows = (await readFile(await download.path(), 'utf8')).trim().split('\r\n')
  assert.equal(rows.length, 9)
  assert.ok(rows.some((row) => row.startsWith('20,out,')))
})

stage.eachSetup('the evening counts what is open and who is out', async ({ page, open, audit }) => {
  await open('/app/#/evening')
  const count = (name: string) => page.locator('dl > div', { hasText: name }).getByRole('definition')
  await count('in barn, unlocked').getByText('3').waitFor()
  await count('still out').getByText('1').waitFor()
  await audit()
})

stage.test('one press locks the open carts in the barn, and no cart on the course', async (scene) => {
  const { page, open: openPage } = scene
  await openPage('/app/#/evening')
  const [first, second, third] = open
  assert.ok(first && second && third)
  second.obedience = 'refuses'
  await page.locator('dl > div', { hasText: 'in barn, unlocked' }).getByText('3').waitFor()
  await page.getByRole('button', { name: 'Lock all in barn' }).click()
  await page.getByRole('status').getByText('2 of 3 locked').waitFor()
  const row = (name: string) => page.getByRole('row', { name, exact: true })
  await row('Cart 11').getByText('Locked', { exact: true }).first().waitFor()
  await row('Cart 12').getByText('Cart failed').waitFor()
  assert.deepEqual(left.received, [])
})

stage.test('the evening is printed on one page', async ({ page, open }) => {
  await open('/app/#/evening')
  await page.getByRole('heading', { name: 'Evening' }).waitFor()
  await page.emulateMedia({ media: 'print' })
  await page.locator('dl > div', { hasText: 'still out' }).getByText('1').waitFor()
  assert.equal(await page.getByRole('navigation').isVisible(), false)
  const pdf = await page.pdf({ format: 'A4' })
  assert.equal(pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)?.length, 1)
})

stage.eachSetup('an admin makes a cart a ranger, and it is counted, listed and marked apart', async (scene) => {
  const { page, open: openPage, audit, gateway } = scene
  await gateway.request('PATCH', '/carts/3', { body: { kind: null } })
  await openPage('/app/#/fleet/3', 'admin')
  await page.locator('summary', { hasText: 'More actions' }).click()
  await page.getByRole('button', { name: 'Kind of vehicle' }).click()
  await page.getByLabel('Kind of vehicle').last().selectOption('Ranger')
  await audit()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.locator('.cart-state', { hasText: 'Ranger · In the barn' }).waitFor()
  await page.getByRole('button', { name: 'Close' }).click()
  await page.getByLabel('Show').selectOption('Other vehicles')
  await page.getByRole('row', { name: 'Cart 3', exact: true }).getByText('Ranger · In the barn').waitFor()
  await page.getByRole('row', { name: 'Cart 1', exact: true }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Map' }).first().click()
  await page.getByRole('button', { name: '1 Others' }).click()
  await page.getByRole('link', { name: 'Cart 3' }).waitFor()
  await audit()
  await gateway.request('PATCH', '/carts/3', { body: { kind: null } })
})
