import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually } from '#shared/testing/eventually.ts'
import { ADMIN_KEY } from '#testing/start-gateway.ts'
import { answered, LINE_GONE } from '../page-faults.ts'
import { createStage } from '../stage.ts'

const folder = mkdtempSync(join(tmpdir(), 'cartbarn-app-backups-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const [dataDir, target] = [join(folder, 'data'), `${join(folder, 'stick')}/`]
mkdirSync(dataDir, { mode: 0o700 })
// as the gateway records last night's backup
const lastGoodMs = Date.now() - 60_000
const kept = [{ number: 214, atMs: lastGoodMs, rows: 1_204_117, bytes: 312_448_120 }]
writeFileSync(join(dataDir, 'backups.json'), JSON.stringify({ target, sinceMs: lastGoodMs, lastGoodMs, stay: kept }))

const stage = createStage({
  settings: {
    CARTBARN_CLOCK_CONFIRMED_BY: 'admin',
    CARTBARN_DATA_DIR: dataDir,
    CARTBARN_BACKUP_TO: target,
    CARTBARN_SMTP_URL: 'smtp://127.0.0.1:9',
    CARTBARN_SMTP_FROM: 'barn@club.example',
    CARTBARN_BACKUP_PASSPHRASE: 'the nineteenth hole',
  },
  prepare: async ({ course, gateway }) => {
    await course.cart('17')
    const device = await gateway.device('broken-1')
    // quarantined, because it is not JSON
    await device.publishAsync('dev/broken-1/tlm', 'not <b>json</b>', { qos: 1 })
    await gateway.request('POST', '/clock/confirm', { body: { time: new Date().toISOString() } })
  },
})

const SITE = 'Course settings'
const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 })

stage.eachSetup('an admin changes the course, and each error is shown at its field', async (scene) => {
  const { page, open, audit, gateway, faults } = scene
  faults.forgive(answered(400))
  await open('/app/#/more', 'admin')
  await page.getByRole('navigation', { name: 'Course' }).getByRole('link', { name: SITE }).click()
  await heading(page, SITE).waitFor()
  await audit()
  await page.getByLabel('Name', { exact: true }).fill('Pebble <b>Creek</b> 🏌️')
  await page.getByLabel('Low battery, volts').fill('48,5')
  await page.getByLabel('No signal after disconnect, seconds').fill('0')
  await page.getByLabel('Use opening hours').check()
  await page.getByLabel('Sunday', { exact: true }).uncheck()
  await page.getByLabel('Monday closes').fill('00:00')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Check the highlighted fields.').waitFor()
  const silent = page.getByLabel('No signal after disconnect, seconds')
  assert.equal(await silent.getAttribute('aria-invalid'), 'true')
  assert.equal(await page.getByLabel('Low battery, volts').inputValue(), '48,5', 'what was typed is there')
  await audit()
  await silent.fill('')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.', { exact: true }).waitFor()
  const { body } = await gateway.request('GET', '/site')
  assert.deepEqual(
    [body.name, body.pack.low_v, body.silent_after_s, body.opening_hours.mon, body.opening_hours.sun],
    ['Pebble <b>Creek</b> 🏌️', 48.5, 180, ['07:00', '24:00'], null],
  )
  await page.locator('summary', { hasText: 'Other vehicles' }).click()
  const ranger = page.getByRole('group', { name: 'Ranger' })
  await ranger.getByLabel('Lock at closing time').check()
  await ranger.getByLabel('Alerts: Low battery').uncheck()
  await page.getByRole('button', { name: 'Save' }).click()
  const rules = { auto_lock: false, lock_at_closing: true, alerts: ['call', 'service_due'] }
  const kinds = async () => (await gateway.request('GET', '/site')).body.vehicle_kinds
  await eventually(async () => (await kinds()).ranger.lock_at_closing, 'the rules of rangers are saved')
  assert.deepEqual((await kinds()).ranger, rules)
  await audit()
  const reset = { name: null, pack: null, opening_hours: null, vehicle_kinds: null }
  await gateway.request('PATCH', '/site', { body: reset })
  await eventually(async () => (await page.getByLabel('Name', { exact: true }).inputValue()) === '', 'others are seen')
})

stage.test('typed input survives a lost connection, and changes saved by others are shown', async (scene) => {
  const { page, open, link, gateway, faults } = scene
  faults.forgive(LINE_GONE)
  await open('/app/#/more/site', 'admin')
  await page.getByLabel('Minutes per hole').fill('12')
  link.cut()
  await page.getByRole('status').getByText('No connection for').waitFor()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('No reply from the gateway. Try again.').waitFor()
  link.restore()
  await page.getByRole('status').getByText('No connection for').waitFor({ state: 'detached' })
  await gateway.request('PATCH', '/site', { body: { zone_stay_s: 77 } })
  const stay = page.getByLabel('Stopped in no-go zone, seconds')
  await eventually(async () => (await stay.inputValue()) === '77', 'what others saved is seen')
  assert.equal(await page.getByLabel('Minutes per hole').inputValue(), '12')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.', { exact: true }).waitFor()
  const { body } = await gateway.request('GET', '/site')
  assert.deepEqual([body.minutes_per_hole, body.zone_stay_s], [12, 77])
})

stage.test('staff read the settings, and cannot change them', async ({ page, open, audit }) => {
  await open('/app/#/more/site', 'staff')
  await page.getByText('Only admins can change these.').waitFor()
  assert.equal(await page.getByLabel('Name', { exact: true }).getAttribute('readonly'), '')
  assert.equal(await page.getByRole('button', { name: 'Save' }).count(), 0)
  await audit()
})

stage.eachSetup('a player is added, changed, gets another key and is deleted', async (scene) => {
  const { page, open, audit, gateway } = scene
  const find = async (name: string) => {
    const { body } = await gateway.request('GET', '/users')
    return body.find((user: { name: string }) => user.name === name)
  }
  await open('/app/#/more/people', 'admin')
  await page.getByRole('link', { name: 'Add a person' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Player app')
  await page.getByLabel('Role').selectOption('user')
  assert.ok(await page.getByLabel('Hide tags and keypad codes').isChecked(), 'it is proposed')
  await page.getByRole('radio', { name: 'Only selected' }).check()
  await page.getByRole('textbox', { name: 'Only selected' }).fill('17, later-1')
  await audit()
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  const dialog = page.getByRole('dialog')
  const key = await dialog.getByText(/^flt_/).innerText()
  await audit()
  await dialog.getByRole('button', { name: 'I have saved it' }).click()
  const made = await find('Player app')
  assert.deepEqual([made.role, made.mask_codes], ['user', true])
  assert.equal(made.allowed_hardware_ids.at(-1), 'later-1')
  assert.notEqual(made.allowed_hardware_ids[0], '17', 'the number of a cart is its devices')
  assert.equal((await gateway.request('GET', '/me', { key })).status, 200)

  const [player, back] = [
    page.getByRole('link', { name: 'Player app' }),
    page.getByRole('link', { name: 'All people' }),
  ]
  await back.click()
  await player.click()
  await page.getByRole('radio', { name: 'All carts, including new ones' }).check()
  await audit()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' })
  assert.deepEqual((await find('Player app')).allowed_hardware_ids, ['*'])

  await player.click()
  await page.getByRole('button', { name: 'New key' }).click()
  await dialog.getByText('The old key stops working immediately').waitFor()
  await dialog.getByRole('button', { name: 'New key' }).click()
  await dialog.getByRole('button', { name: 'I have saved it' }).click()
  assert.equal((await gateway.request('GET', '/me', { key })).status, 401)

  await page.getByRole('button', { name: 'Disable' }).click()
  await dialog.getByRole('button', { name: 'Disable' }).click()
  await dialog.waitFor({ state: 'detached' })
  assert.equal((await find('Player app')).is_active, false)
  await player.click()
  await page.getByRole('button', { name: 'Enable' }).waitFor()
  await page.getByRole('button', { name: 'Delete' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await dialog.waitFor({ state: 'detached' })
  await player.waitFor({ state: 'detached' })
  assert.equal(await find('Player app'), undefined)
})

stage.eachSetup('storage, clients, damage, head office and who did what', async ({ page, open, audit }) => {
  await open('/app/#/more/storage', 'admin')
  await page.getByText('400 days').first().waitFor()
  await page.getByText('No data older than a few hours.').or(page.getByRole('rowheader')).first().waitFor()
  await audit()
  await page.getByRole('button', { name: /^Delete old history/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete old history' }).click()
  await page.getByText('0 positions and 0 voltages deleted.').waitFor()

  await page.goto(page.url().replace(/#.*/, '#/more/mqtt'))
  await page
    .getByRole('button', { name: /^Disconnect: / })
    .first()
    .waitFor()
  await audit()
  await page.getByLabel('Name contains').fill('no such client')
  await page.getByText('No matching clients.').waitFor()

  await page.goto(page.url().replace(/#.*/, '#/more/damage'))
  await page.getByText('No damage found.').waitFor()
  await page.getByText(/invalid_json/).click()
  await page.getByText('not <b>json</b>').waitFor()
  await audit()

  await page.goto(page.url().replace(/#.*/, '#/more/sync'))
  await page.getByText('No head office is configured.').waitFor()
  await audit()

  await page.goto(page.url().replace(/#.*/, '#/more/audit-log'))
  await page.getByLabel('Action').selectOption({ label: 'confirmed the clock' })
  await page
    .locator('strong')
    .getByText(/confirmed the clock/)
    .first()
    .waitFor()
  await audit()
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export CSV' }).click()
  assert.equal((await download).suggestedFilename(), 'audit-log.csv')
})

stage.eachSetup('More has a tile for each page, and finds one', async ({ page, open, audit }) => {
  await open('/app/#/more', 'admin')
  await page.getByRole('navigation', { name: 'Gateway' }).getByRole('link', { name: 'Backups' }).waitFor()
  assert.match(await page.title(), /^More · /)
  await audit()
  await page.getByRole('searchbox', { name: 'Search' }).fill('PIN')
  await page.getByRole('link', { name: 'Backups' }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'People' }).click()
  await page.getByRole('link', { name: 'Add a person' }).waitFor()
  assert.match(await page.title(), /^People · /)
  await page.goBack()
  assert.equal(await page.getByRole('searchbox', { name: 'Search' }).inputValue(), 'PIN')
  await page.getByRole('searchbox', { name: 'Search' }).fill('no such page')
  await page.getByText('No matching pages.').waitFor()
})

stage.test('a user without access to a page sees an explanation', async ({ page, open }) => {
  await open('/app/#/more/storage', 'user')
  await page.getByText('Storage · Admins only.').waitFor()
  await page.goto(page.url().replace(/#.*/, '#/more/reports'))
  await page.getByText('Reports · Staff only.').waitFor()
})

stage.eachSetup('the backups that there are, and where', async ({ page, open, audit }) => {
  await open('/app/#/more/backups', 'admin')
  await page.getByText(/^Backup 214 · .* · 312 MB · 1,204,117 rows$/).waitFor()
  await page.getByRole('button', { name: 'Back up now' }).waitFor()
  await audit()
})

stage.test('a backup is made immediately, and the audit log shows it', async ({ page, open, gateway }) => {
  await open('/app/#/more/backups', 'admin')
  await page.getByRole('button', { name: 'Back up now' }).click()
  await eventually(async () => {
    const { body } = await gateway.request('GET', '/audit-log?action=backup.started')
    return body.entries.length === 1
  }, 'the backup')
})

stage.test('a client is disconnected after a confirmation', async ({ page, open, gateway }) => {
  const client = await gateway.device('wild-1')
  const closed = new Promise<void>((resolve) => client.once('close', () => resolve()))
  await open('/app/#/more/mqtt', 'admin')
  await page.getByRole('button', { name: 'Disconnect: wild-1' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click()
  await closed
})

stage.test('a recipient is added, and changed', async ({ page, open, gateway, audit }) => {
  await open('/app/#/more/notify', 'admin')
  await page.getByRole('button', { name: 'Add recipient' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('ntfy').check()
  await dialog.getByLabel('Topic URL').fill('http://127.0.0.1:9/carts')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: /^Edit: ntfy/ }).click()
  await dialog.getByLabel('Only if unacknowledged').fill('15')
  await dialog.getByLabel('Topic URL').fill('http://127.0.0.1:9/barn')
  await audit()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: 'ntfy: http://127.0.0.1:9/barn' }).waitFor()
  const { body } = await gateway.request('GET', '/notifiers')
  assert.deepEqual([body.length, body[0].to, body[0].after_unacknowledged_min], [1, 'http://127.0.0.1:9/barn', 15])
  await gateway.request('DELETE', `/notifiers/${body[0].notifier_id}`)
})

stage.test('a report by e-mail is added, changed and tested', async ({ page, open, gateway, audit, faults }) => {
  await open('/app/#/more/mail-reports', 'admin')
  await page.getByRole('button', { name: 'Add report' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('E-mail address').fill('boss')
  await dialog.getByLabel('Sent at').selectOption('closing')
  faults.forgive(answered(400))
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('must be one e-mail address').waitFor()
  await dialog.getByLabel('E-mail address').fill('boss@club.example')
  await audit()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Edit: boss@club.example' }).click()
  await dialog.getByLabel('Period').selectOption('month')
  await dialog.getByLabel('Time').fill('07:15')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText(/^Month · 07:15 · Next/).waitFor()
  await page.getByRole('button', { name: 'Test' }).click()
  await page.getByText('Test is being sent.').waitFor()
  const { body } = await gateway.request('GET', '/mail-reports')
  assert.deepEqual([body.length, body[0].report, body[0].at], [1, 'month', '07:15'])
  await gateway.request('DELETE', `/mail-reports/${body[0].report_id}`)
})

const ADMIN_PAGES = [
  'mail-reports',
  'people',
  'tablets',
  'notify',
  'storage',
  'backups',
  'sync',
  'mqtt',
  'damage',
  'audit-log',
]
for (const path of ADMIN_PAGES)
  stage.test(`${path} prompts an admin whose rights have ended, and then opens`, async (scene) => {
    const { page, open, faults } = scene
    faults.forgive(answered(403))
    const refused = await refuseAdmins(page)
    await open(`/app/#/more/${path}`, 'admin')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('Admins only.').waitFor()
    await page.getByRole('button', { name: 'Try again' }).click()
    await dialog.getByLabel('Your key').waitFor()
    refused.stop()
    await dialog.getByLabel('Your key').fill(ADMIN_KEY)
    await dialog.getByRole('button', { name: 'Continue' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('Admins only.').waitFor({ state: 'detached' })
    await page.getByText('Loading').waitFor({ state: 'detached' })
    assert.equal(await page.getByRole('main').getByRole('alert').count(), 0)
  })

stage.test('typed input survives the prompt for the key, and is saved', async (scene) => {
  const { page, open, faults, gateway } = scene
  faults.forgive(answered(403))
  await open('/app/#/more/site', 'admin')
  await page.getByLabel('Minutes per hole').fill('13')
  const refused = await refuseAdmins(page)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByLabel('Your key').waitFor()
  refused.stop()
  await page.getByLabel('Your key').fill(ADMIN_KEY)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('Saved.', { exact: true }).waitFor()
  assert.equal((await gateway.request('GET', '/site')).body.minutes_per_hole, 13)
})

stage.test('a PIN that is set in the prompt for the key replaces the key from then on', async (scene) => {
  const { page, open, faults, gateway, audit } = scene
  faults.forgive(answered(403))
  const refused = await refuseAdmins(page)
  await open('/app/#/more/people', 'admin')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('New PIN').fill('47')
  await dialog.getByLabel('Your key').fill(ADMIN_KEY)
  await dialog.getByRole('button', { name: 'Continue' }).click()
  await dialog.getByText('A PIN has 4 to 6 digits.').waitFor()
  await audit()
  refused.stop()
  await dialog.getByLabel('New PIN').fill('4711')
  await dialog.getByRole('button', { name: 'Continue' }).click()
  await dialog.waitFor({ state: 'detached' })
  const again = await refuseAdmins(page)
  await page.reload()
  // the only admin with a PIN
  await page.getByRole('dialog', { name: 'PIN for Admin' }).waitFor()
  again.stop()
  await gateway.put(`/users/${await gateway.adminId()}/pin`, { pin: null })
})

stage.test('each screen describes its purpose and links to the docs of the gateway', async (scene) => {
  const { page, open, context, audit, link } = scene
  await open('/app/#/fleet', 'staff')
  for (const screen of ['Fleet', 'Evening', 'Alerts', 'Map']) {
    await page.getByRole('link', { name: screen, exact: true }).click()
    await page.getByRole('button', { name: 'Help' }).click()
    const dialog = page.getByRole('dialog')
    assert.ok((await dialog.locator('p').innerText()).length > 40)
    await audit()
    const opened = context.waitForEvent('page')
    await dialog.getByRole('link', { name: 'Read more' }).click()
    const help = await opened
    await help.getByRole('heading', { level: 1 }).first().waitFor()
    assert.ok(help.url().startsWith(`${link.url}/help/`))
    await help.close()
    await dialog.getByRole('button', { name: 'Close' }).click()
  }
})

/** Simulates ten idle minutes: requests that need an admin are rejected until `stop`. */
async function refuseAdmins(page: Page): Promise<{ stop: () => void }> {
  let isRefused = true
  const paths = ['users', 'sessions', 'access-requests', 'backups', 'notifiers', 'mail-reports', 'webhooks', 'stats']
  const pattern = new RegExp(
    `/(${[...paths, 'metrics', 'site', 'sync/status', 'mqtt/[a-z]+', 'audit-log'].join('|')})(\\?.*)?$`,
  )
  await page.route(pattern, (route) => {
    const isSignIn = route.request().method() !== 'GET' && route.request().url().endsWith('/sessions')
    return isRefused && !isSignIn
      ? route.fulfill({ status: 403, json: { code: 'admin_required', detail: 'x' } })
      : route.continue()
  })
  return {
    stop: () => {
      isRefused = false
    },
  }
}
