import assert from 'node:assert/strict'
import type { Locator } from 'playwright-core'
import { answered, LINE_GONE } from '../page-faults.ts'
import type { Scene } from '../scene.ts'
import { SETUPS, SIZES } from '../screen-setups.ts'
import { createStage } from '../stage.ts'
import type { StagedCart } from '../staged-cart.ts'

let cart17: StagedCart
let cart18: StagedCart
let cart19: StagedCart
let cart74: StagedCart

const stage = createStage({
  prepare: async ({ course }) => {
    cart17 = await course.cart('17')
    cart18 = await course.cart('18')
    cart19 = await course.cart('19')
    cart74 = await course.cart('74')
  },
})

function card({ page }: Scene) {
  const region = page.getByRole('region', { name: /^Cart / })
  return {
    region,
    status: region.getByRole('status'),
    button: (name: string) => region.getByRole('button', { name, exact: true }),
  }
}

/** Presses a button of the card and confirms. */
async function answer(scene: Scene, name: string): Promise<void> {
  await card(scene).button(name).click()
  await scene.page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
}

/** Presses one of the rare buttons of the card. */
async function more(scene: Scene, name: string): Promise<void> {
  await card(scene).region.getByText('More actions').click()
  await card(scene).button(name).click()
}

/** Audits the page on a tablet and on a phone, light and dark. */
async function auditSetups({ page, audit }: Scene): Promise<void> {
  for (const { size, scheme } of SETUPS) {
    await page.setViewportSize(SIZES[size])
    await page.emulateMedia({ colorScheme: scheme })
    await audit()
  }
  await page.setViewportSize(SIZES.tablet)
}

stage.test('a cart is unlocked from its card, and shown as unlocked when it confirms', async (scene) => {
  const { page, open, audit } = scene
  cart17.obedience = 'takes'
  await open('/app/#/map/17')
  await page.getByRole('heading', { name: 'Cart 17' }).waitFor()
  await card(scene).region.getByText('Locked', { exact: true }).waitFor()
  await card(scene).button('Unlock').click()
  await page.getByLabel('Driver').fill('Jane')
  await audit()
  await page.getByRole('dialog').getByRole('button', { name: 'Unlock', exact: true }).click()
  await card(scene).status.getByText('Sent to the cart …').waitFor()
  assert.equal(await card(scene).region.getByText('Unlocked', { exact: true }).count(), 0)
  await cart17.finish()
  await card(scene)
    .status.getByText(/^Unlocked at \d\d:\d\d/)
    .waitFor()
  await card(scene).region.getByText('Unlocked', { exact: true }).waitFor()
  await auditSetups(scene)
})

stage.test('the card explains why a cart is not locked: it drives, or its lock is jammed', async (scene) => {
  const { page, open } = scene
  await cart19.drives('fairway')
  await open('/app/#/map/19')
  await card(scene)
    .region.getByText(/^Moving at 15 km\/h/)
    .waitFor()
  assert.equal(await card(scene).button('Lock').isDisabled(), true)
  // only an admin may
  assert.equal(await card(scene).button('Lock anyway').count(), 0)
  cart18.obedience = 'refuses'
  await page.evaluate(`location.hash = '#/map/18'`)
  await page.getByRole('heading', { name: 'Cart 18' }).waitFor()
  await card(scene).button('Lock').click()
  await card(scene).status.getByText('The cart declined: jammed').waitFor()
})

stage.test('a connection lost during a command resumes its outcome, and typed input is kept', async (scene) => {
  const { page, link, open, faults } = scene
  faults.forgive(LINE_GONE)
  cart18.obedience = 'takes'
  await open('/app/#/map/18')
  await card(scene).button('Lock').click()
  await card(scene).status.getByText('Sent to the cart …').waitFor()
  await more(scene, 'Note')
  await page.getByRole('textbox', { name: 'Note' }).fill('Squeaks')
  link.cut()
  await page.getByText('No connection for').waitFor()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('nothing was sent. Try again').waitFor()
  await cart18.finish()
  link.restore()
  await page.getByText('No connection for').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Cancel' }).click()
  await card(scene)
    .status.getByText(/^Locked at \d\d:\d\d/)
    .waitFor()
})

stage.test('a session that ends during a command leads to the sign-in', async (scene) => {
  const { gateway, open, faults } = scene
  faults.forgive(answered(401))
  cart18.obedience = 'takes'
  await open('/app/#/map/18')
  await answer(scene, 'Unlock')
  await card(scene).status.getByText('Sent to the cart …').waitFor()
  const { body } = await gateway.request('GET', '/sessions')
  for (const { session_id } of body) await gateway.request('DELETE', `/sessions/${session_id}`)
  await card(scene).region.waitFor({ state: 'detached' })
  await cart18.finish()
})

stage.test('a small phone shows state, actions and result of a cart; the rest is behind one button', async (scene) => {
  const { page, open, audit, gateway } = scene
  await page.setViewportSize({ width: 360, height: 740 })
  const screen = { hardware_id: 'screen-18', device_type: 'cartcaddie', cart: '18' }
  await gateway.request('POST', '/devices', { body: screen })
  await cart18.stands('barn', { isLocked: false })
  await open('/app/#/map/18')
  await card(scene).region.getByText('Unlocked in barn').first().waitFor()
  const inView = async (one: Locator) => {
    const [box, tabs] = [await one.boundingBox(), await page.getByRole('navigation', { name: 'Screens' }).boundingBox()]
    assert.ok(box !== null && tabs !== null && box.y + box.height <= tabs.y, `${one} is below the edge`)
  }
  for (const name of ['Lock', 'Unlock', 'Beep', 'Message']) await inView(card(scene).button(name))
  assert.equal(await card(scene).button('Note').isVisible(), false)
  cart18.obedience = 'obeys'
  await card(scene).button('Beep').click()
  const result = card(scene).status.getByText(/^Beeped at \d\d:\d\d/)
  await result.waitFor()
  await inView(result)
  await audit()
  await more(scene, 'Out of service')
  await page.getByRole('button', { name: 'Brakes' }).click()
  await card(scene)
    .region.getByText(/^Out of service: Brakes/)
    .waitFor()
  assert.equal((await gateway.request('GET', '/carts/18')).body.out_of_service.why, 'Brakes')
  await gateway.request('PATCH', '/carts/18', { body: { out_of_service: null } })
  await page.keyboard.press('Escape')
  await card(scene).region.waitFor({ state: 'detached' })
})

stage.test('an attention item leads to its cart', async (scene) => {
  const { page, open } = scene
  await cart17.stands('barn', { isLocked: false })
  await cart18.stands('barn', { isLocked: true })
  await open('/app/#/map')
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor()
  const line = page.getByRole('link', { name: /^Cart 17: Unlocked in barn/ }).first()
  await line.waitFor()
  await auditSetups(scene)
  await line.click()
  await page.getByRole('heading', { name: 'Cart 17' }).waitFor()
})

stage.test('an alert is a bar on every screen and tablet until it is acknowledged', async (scene) => {
  const { page, open, audit, other } = scene
  await open('/app/#/alerts')
  const second = await other()
  await second.open('/app/#/more')
  // a locked cart that moves opens a separate alert
  await cart74.stands('road', { isLocked: false })
  const bars = [page, second.page].map((one) => one.getByRole('link', { name: /^Cart 74: Off course/ }))
  for (const bar of bars) await bar.waitFor()
  await auditSetups(scene)
  await second.page.getByRole('button', { name: 'Acknowledge: Cart 74: Off course' }).click()
  for (const bar of bars) await bar.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Note: Cart 74: Off course' }).click()
  await page.getByRole('textbox', { name: 'Note' }).fill('Fetched')
  await audit()
  await page.getByRole('button', { name: 'Save note' }).click()
  await page.getByText('Fetched').waitFor()
  await cart74.stands('barn')
  await page.getByText('ended').waitFor()
})

stage.test('a call is answered with one tap and closed with another; an order waits without a sound', async (scene) => {
  const { page, open, audit, gateway } = scene
  await cart19.stands('fairway')
  await open('/app/#/alerts')
  await cart19.calls('order')
  await cart19.calls('help', 'Flat tyre')
  const bar = page.getByRole('link', { name: /^Cart 19 calls for help, hole 1/ })
  await bar.waitFor()
  await audit()
  await page.getByRole('button', { name: 'On my way: Cart 19 calls for help, hole 1' }).last().click()
  await page.getByText('Flat tyre, Screen: We are on our way.').waitFor()
  await page.getByRole('button', { name: 'Done: Cart 19 calls for help, hole 1' }).click()
  await page.getByRole('button', { name: 'On my way: Cart 19 wants to order, hole 1' }).first().waitFor()
  await page.getByRole('button', { name: /^Cart 19 wants to order, hole 1/ }).click()
  await page.getByRole('textbox', { name: 'Text on the screen of the cart' }).fill('Ten minutes')
  await page.getByRole('dialog').getByRole('button', { name: 'On my way' }).click()
  await page.getByText('Screen: Ten minutes').waitFor()
  const { alerts } = (await gateway.request('GET', '/alerts?kind=call&state=acknowledged')).body
  await gateway.request('POST', `/alerts/${alerts[0].alert_id}/close`)
})

stage.test('all carts are recalled with two taps, and those still out are listed', async (scene) => {
  const { page, open, other } = scene
  await cart19.stands('fairway')
  await open('/app/#/alerts')
  const second = await other()
  await second.open('/app/#/more')
  await page.getByRole('button', { name: 'All carts in' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
  await page.getByRole('link', { name: /Hole 1 no screen: fetch the driver/ }).waitFor()
  const bar = second.page.getByRole('link', { name: /still out/ })
  await bar.waitFor()
  await auditSetups(scene)
  const end = async () => {
    await page.getByRole('button', { name: 'End recall' }).click()
    const asked = page.getByRole('dialog', { name: /^End the recall and notify (the cart|\d+ carts)/ })
    await asked.waitFor()
    return asked
  }
  await (await end()).getByRole('button', { name: 'Cancel' }).click()
  await bar.waitFor()
  await (await end()).getByRole('button', { name: 'End recall' }).click()
  await bar.waitFor({ state: 'detached' })
  await page.getByText('No recall in progress.').waitFor()
  await page.getByRole('button', { name: 'Recall again' }).click()
  await page.getByText('All carts in: please return to the clubhouse now.').waitFor()
  await bar.waitFor()
  await (await end()).getByRole('button', { name: 'End recall' }).click()
  await bar.waitFor({ state: 'detached' })
})
