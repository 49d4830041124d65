import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { eventually } from '#shared/testing/eventually.ts'
import { systemClock } from '#shared/time.ts'
import { Receiver } from '#testing/receiver.ts'
import { ADMIN_KEY } from '#testing/start-gateway.ts'
import { answered, LINE_GONE } from '../page-faults.ts'
import { createStage } from '../stage.ts'
import type { StagedCart } from '../staged-cart.ts'

const PIN = '4711'
/** Difficult but valid name. */
const JANE = 'Jane <b>من</b> 🏌️ of the long name that goes on and on and on and on'

/** Clock that the test can advance by hours. */
const clock = {
  aheadMs: 0,
  nowMs: () => systemClock.nowMs() + clock.aheadMs,
  monotonicMs: () => systemClock.monotonicMs() + clock.aheadMs,
}
let cart17: StagedCart

const stage = createStage({
  // independent of the machine that runs the test
  settings: { CARTBARN_CLOCK_CONFIRMED_BY: 'admin' },
  overrides: { clock },
  prepare: async ({ gateway, course }) => {
    cart17 = await course.cart('17')
    const { userId } = await gateway.createUser({ name: JANE, role: 'staff', allowed_hardware_ids: ['*'] })
    await gateway.request('PUT', `/users/${userId}/pin`, { body: { pin: PIN } })
  },
})

async function press(page: Page, digits: string): Promise<void> {
  for (const digit of digits) await page.getByRole('button', { name: digit, exact: true }).click()
  await page.getByRole('button', { name: 'OK' }).click()
}

stage.eachSetup('a user signs in by PIN, after a wrong one, and chooses German', async (scene) => {
  const { page, faults, open, audit } = scene
  faults.forgive(answered(403))
  await open('/app/#/more', 'staff')
  await page.getByRole('heading', { name: 'More' }).waitFor()
  await audit()
  await page.getByRole('button', { name: 'Enter PIN' }).click()
  await page.getByRole('dialog').getByRole('button', { name: /^Jane/ }).click()
  await press(page, '0000')
  await page.getByText('Wrong PIN.').waitFor()
  await audit()
  await press(page, PIN)
  await page.getByRole('button', { name: 'Sign out PIN' }).waitFor()
  await page.getByLabel('Language').selectOption('de')
  await page.getByRole('heading', { name: 'Mehr' }).waitFor()
  assert.equal(await page.evaluate('document.documentElement.lang'), 'de')
  await page.reload()
  await page.getByRole('button', { name: 'PIN abmelden' }).click()
  await page.getByRole('button', { name: 'PIN eingeben' }).waitFor()
  await audit()
})

stage.test('a tablet without a key requests access, and an admin approves it on another screen', async (scene) => {
  const { page, open, faults, audit } = scene
  // it polls for the approval
  faults.forgive(answered(403))
  await open('/app/#/more', null)
  await page.getByRole('button', { name: 'Request access' }).click()
  const check = (await page.getByText(/^\d{4}$/).innerText()).trim()
  await audit()
  const admin = await scene.other()
  await admin.open('/app/', 'admin')
  await admin.page.getByText(`requests access: ${check}`).waitFor()
  await admin.page.getByRole('link', { name: 'View' }).click()
  await admin.page.getByRole('button', { name: 'Approve' }).waitFor()
  await admin.audit()
  const whose = admin.page.getByLabel('Sign in as').first()
  assert.equal(await whose.locator('option:checked').innerText(), 'Shared tablet')
  await whose.selectOption({ label: `${JANE} (Staff)` })
  await admin.page.getByRole('button', { name: 'Approve' }).click()
  await page.getByRole('heading', { name: 'More' }).waitFor()
})

stage.test('a new tablet is paired by a code, and signed out remotely', async (scene) => {
  const admin = await scene.other()
  await admin.open('/app/#/more/tablets', 'admin')
  await admin.page.getByText('Signed-in tablets, phones and browsers').waitFor()
  await admin.page.getByLabel('Tablet name').fill('Starter tablet')
  await admin.page.getByRole('button', { name: 'Create code' }).click()
  await admin.page.getByRole('img', { name: 'QR' }).waitFor()
  await admin.audit()
  const code = await admin.page.getByText(/^[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}$/).innerText()
  const { page, open, faults, audit, gateway } = scene
  faults.forgive(answered(401))
  await open(`/app/#pair=${code}`, null)
  await page.getByRole('link', { name: 'More' }).click()
  await page.getByText('Starter tablet', { exact: true }).waitFor()
  await page.evaluate(`location.hash = '#/map/17'`)
  await page.getByRole('button', { name: 'Beep' }).click()
  const asked = page.getByRole('dialog', { name: 'Who are you?' })
  await asked.getByRole('button', { name: 'Continue as Starter tablet' }).waitFor()
  await audit()
  await asked.getByRole('button', { name: /^Jane/ }).click()
  await press(page, PIN)
  await page.getByText(/^Beeped at/).waitFor()
  const sent = await gateway.request('GET', '/audit-log?action=command.created')
  assert.equal(sent.body.entries[0].person.name, JANE)
  await page.getByRole('link', { name: 'More' }).click()
  await admin.page.getByRole('button', { name: 'Sign out: Starter tablet' }).click()
  await admin.page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click()
  await page.getByText('This tablet was signed out.').waitFor()
  assert.match(page.url(), /#\/more$/, 'the address is the same')
  await page.getByLabel('Key').fill(code)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('This code is wrong, expired or already used.').waitFor()
})

stage.test('a new version is offered after reconnecting, and typed input is kept', async (scene) => {
  const { page, open, link, faults } = scene
  faults.forgive(LINE_GONE)
  await open('/app/#/more/people/new', 'admin')
  await page.getByLabel('Name', { exact: true }).fill('typed')
  link.cut()
  await page.getByRole('status').getByText('No connection for').waitFor()
  await page.route('**/app/', async (route) => {
    const response = await route.fetch()
    await route.fulfill({
      response,
      body: (await response.text()).replace(/index-[\w-]+\.css/, 'index-new.css'),
    })
  })
  link.restore()
  await page.getByText('New version available.').waitFor()
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'typed')
  await page.unroute('**/app/')
  await page.getByRole('button', { name: 'Update' }).click()
  await page.getByText('New version available.').waitFor({ state: 'detached' })
})

stage.test('an admin confirms the time, after giving the key where the rights have ended', async (scene) => {
  const { page, open, faults } = scene
  faults.forgive(answered(403))
  let isRefused = true
  // simulates ten idle minutes for the page
  await page.route('**/clock/confirm', (route) =>
    isRefused ? route.fulfill({ status: 403, json: { code: 'admin_required', detail: 'x' } }) : route.continue(),
  )
  await open('/app/#/more', 'admin')
  await page.getByText(/^Is it \d\d:\d\d\?$/).waitFor()
  await page.getByRole('button', { name: 'Yes' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Yes' }).click()
  isRefused = false
  await page.getByLabel('Your key').fill(ADMIN_KEY)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText(/^Is it/).waitFor({ state: 'detached' })
})

stage.test('recipients of alerts can be added, tested and removed, and rejections give a reason', async (scene) => {
  const { page, open, audit, faults } = scene
  faults.forgive(answered(400), answered(409), answered(422))
  const ends: (() => void)[] = []
  try {
    const receiver = await Receiver.open({ after: (end) => ends.push(end) })
    await open('/app/#/more/notify', 'admin')
    await page.getByRole('button', { name: 'Add webhook' }).click()
    await page.getByLabel('Address').fill(receiver.url)
    await audit()
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    const secret = await page.getByRole('dialog', { name: 'Webhook secret' }).locator('code').innerText()
    assert.ok(secret.length > 20)
    await page.getByRole('button', { name: 'I have saved it' }).click()
    const target = page.getByRole('listitem').filter({ hasText: receiver.url })
    assert.equal(await page.getByText(secret).count(), 0)
    await target.getByRole('button', { name: 'Test' }).click()
    await target.getByText('Test is being sent.').waitFor()
    await receiver.has(1)
    await target.getByText(/^Last sent \d+ s ago/).waitFor()
    await audit()
    await target.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await target.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Add recipient' }).click()
    await page.getByLabel('E-mail address').fill('shop@example.org')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('No mail server').waitFor()
    await page.getByRole('radio', { name: 'ntfy' }).check()
    await page.getByLabel('Topic URL').fill(`${receiver.url}/carts`)
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: `ntfy: ${receiver.url}/carts` }).waitFor()
  } finally {
    for (const end of ends) end()
  }
})

// last, because it advances the clock by ten minutes for all
stage.test('after ten idle minutes the map stays, and an action prompts for the PIN', async (scene) => {
  const { page, open } = scene
  await open('/app/#/more', 'staff')
  await page.getByRole('button', { name: 'Enter PIN' }).click()
  await page.getByRole('dialog').getByRole('button', { name: /^Jane/ }).click()
  await press(page, PIN)
  await page.getByRole('button', { name: 'Sign out PIN' }).waitFor()
  await page.evaluate(`location.hash = '#/map/17'`)
  const card = page.getByRole('region', { name: 'Cart 17' })
  const beep = card.getByRole('button', { name: 'Beep', exact: true })
  const earlier = cart17.received.length
  await beep.click()
  await eventually(() => cart17.received.length > earlier, 'the cart hears the first beep')
  const before = cart17.received.length
  clock.aheadMs += 11 * 60_000
  // the connection requests the time
  await page.evaluate(`dispatchEvent(new Event('online'))`)
  // its fix is as old as the first test of this file
  await card
    .getByText(/^1\d min ago/)
    .first()
    .waitFor()
  assert.equal(await page.getByRole('dialog').count(), 0)
  await beep.click()
  await page.getByText('Signed out after 10 minutes of inactivity.').waitFor()
  assert.equal(cart17.received.length, before, 'nothing was sent')
  await press(page, PIN)
  await page.getByText('Signed out after 10 minutes of inactivity.').waitFor({ state: 'detached' })
  await eventually(() => cart17.received.length > before, 'the cart hears it')
})
