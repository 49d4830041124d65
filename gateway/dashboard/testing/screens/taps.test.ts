import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { eventually } from '#shared/testing/eventually.ts'
import { PLACES } from '../places.ts'
import { playRound } from '../played-round.ts'
import type { Scene } from '../scene.ts'
import { createStage } from '../stage.ts'
import type { StagedCart } from '../staged-cart.ts'

/** Taps and typed characters of the tasks of a day, from the map. */
const TAPS = {
  'find a cart and lock it': 3,
  'beep, from its card': 1,
  'acknowledge the alert of the bar': 1,
  'call all carts in': 2,
  'message to the slowest group': 3,
  'act as oneself on a shared tablet': 6,
}

const PIN = '4711'
const BEGIN = `{
  if (globalThis.taps === undefined)
    for (const event of ['pointerdown', 'keydown']) addEventListener(event, () => globalThis.taps++, true)
  globalThis.taps = 0
}`
let cart74: StagedCart
/** User of the shared tablet. */
let shop: string

const stage = createStage({
  prepare: async ({ course, gateway }) => {
    await course.cart('9')
    cart74 = await course.cart('74')
    await course.cart('17')
    const { userId } = await gateway.createUser({ name: 'Jane', role: 'staff', allowed_hardware_ids: ['*'] })
    await gateway.request('PUT', `/users/${userId}/pin`, { body: { pin: PIN } })
    await playRound(gateway, '21', [
      [PLACES.barn, 3],
      [PLACES.fairway, 30],
    ])
    shop = (await gateway.createUser({ name: 'Shop', role: 'staff', allowed_hardware_ids: ['*'] })).userId
    await eventually(
      async () => (await gateway.request('GET', '/rounds/active')).body.rounds.length === 1,
      'a cart is on its round',
    )
  },
})

/** Counts the taps of a task. */
async function tapsOf({ page }: Scene, task: () => Promise<unknown>): Promise<number> {
  await page.evaluate(BEGIN)
  await task()
  return Number(await page.evaluate('globalThis.taps'))
}

const tap = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true }).click()

stage.test('the tasks of a day take few taps', async (scene) => {
  const { page, open, gateway } = scene
  const taps: Record<string, number> = {}
  await open('/app/#/map')
  await page.getByRole('button', { name: /In barn/ }).waitFor()
  taps['find a cart and lock it'] = await tapsOf(scene, async () => {
    await page.getByRole('searchbox', { name: 'Cart number' }).click()
    await page.keyboard.press('9')
    await tap(page, 'Lock')
    await page.getByText(/^Locked at/).waitFor()
  })
  taps['beep, from its card'] = await tapsOf(scene, async () => {
    await tap(page, 'Beep')
    await page.getByText(/^Beeped at/).waitFor()
  })
  await cart74.stands('road', { isLocked: false })
  const alert = page.getByRole('link', { name: /^Cart 74: Off course/ })
  await alert.waitFor()
  taps['acknowledge the alert of the bar'] = await tapsOf(scene, async () => {
    await tap(page, 'Acknowledge: Cart 74: Off course')
    await alert.waitFor({ state: 'detached' })
  })
  await tap(page, 'Close')
  taps['message to the slowest group'] = await tapsOf(scene, async () => {
    await tap(page, 'Pace')
    await tap(page, 'Message to cart 21')
    await tap(page, 'Please let the group behind you play through.')
    await page.getByText('0 of 1 has read it.').waitFor()
  })
  await page.keyboard.press('Escape')
  taps['call all carts in'] = await tapsOf(scene, async () => {
    await tap(page, 'All carts in')
    await tap(page, 'Send')
    await page.getByRole('heading', { name: 'All carts in' }).waitFor()
  })
  await gateway.request('DELETE', '/recall', { body: {} })
  taps['act as oneself on a shared tablet'] = await actsAsOneself(scene)
  assert.deepEqual(taps, TAPS)
})

/** Counts the taps of the question before the first act of a day. */
async function actsAsOneself(scene: Scene): Promise<number> {
  const paired = await scene.gateway.request('POST', '/pairing-codes', { body: { user_id: shop, name: 'Shop' } })
  const tablet = await scene.other()
  const { page, open } = tablet
  await open(`/app/#pair=${paired.body.code}`, null)
  await page.getByRole('searchbox', { name: 'Cart number' }).fill('17')
  await tap(page, 'Beep')
  await page.getByRole('dialog', { name: 'Who are you?' }).waitFor()
  return tapsOf(tablet, async () => {
    await tap(page, 'Jane')
    for (const digit of PIN) await tap(page, digit)
    await tap(page, 'OK')
    await page.getByText(/^Beeped at/).waitFor()
  })
}
