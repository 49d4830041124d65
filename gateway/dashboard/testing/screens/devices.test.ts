import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { eventually } from '#shared/testing/eventually.ts'
import { answered } from '../page-faults.ts'
import { createStage } from '../stage.ts'

/** Difficult but valid name. */
const NAME = 'Cart <b>من</b> 🏌️ of the long name that goes on and on and on and on'

const stage = createStage({
  prepare: async ({ gateway }) => {
    await gateway.request('POST', '/groups', { body: { name: 'North' } })
    const device = await gateway.device('tb-1')
    await gateway.request('PATCH', '/devices/tb-1', { body: { name: NAME, cart: '1' } })
    await gateway.request('PUT', '/groups/1/devices/tb-1')
    await device.publishAsync('dev/tb-1/tlm', '{"lat":28.4', { qos: 1 })
    await device.publishAsync('dev/tb-1/st', '{"online":true}', { qos: 1 })
  },
})

let count = 0

stage.eachSetup('a device is found, read and configured', async ({ page, open, audit, faults, gateway }) => {
  faults.forgive(answered(400))
  await gateway.request('PUT', '/devices/tb-1/config', { body: {} })
  await open('/app/#/more/devices', 'admin')
  await page.getByRole('searchbox', { name: 'Name, ID or cart' }).fill('TB-1')
  await audit()
  await page.getByRole('link', { name: 'tb-1' }).click()
  await page.getByText('rejected: invalid_json').waitFor()
  await page.getByText('{"lat":28.4').waitFor()
  await page.getByRole('cell', { name: 'true (in effect)' }).waitFor()
  await audit()
  await page.getByRole('button', { name: 'Edit for this device' }).click()
  await page.getByLabel('realtime_enabled').selectOption('false')
  await page.getByLabel('Other settings (JSON)').fill('{"beep": ')
  const form = page.locator('form').filter({ hasText: 'For this device only' })
  await form.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Not a JSON object.').waitFor()
  await page.getByLabel('Other settings (JSON)').fill('{"beep": true}')
  await audit()
  await form.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('cell', { name: 'false (in effect)' }).waitFor()
  const { body } = await gateway.request('GET', '/devices/tb-1/config')
  assert.deepEqual(body.layers.device, { beep: true, realtime_enabled: false })
})

stage.eachSetup(
  'a device is added with a code to scan, and deleted',
  async ({ page, open, audit, faults, gateway }) => {
    // the page may ask once more before it knows that the device is deleted
    faults.forgive(answered(404))
    const id = `new-${++count}`
    await open('/app/#/more/devices/new', 'admin')
    faults.forgive(answered(400))
    await page.getByLabel('Device ID').fill('a b')
    await page.getByRole('button', { name: 'Add device' }).click()
    await page.getByRole('alert').getByText('Device ID is not allowed').waitFor()
    assert.deepEqual(await page.getByLabel('Type').locator('option').allTextContents(), [
      'Screen (cartcaddie)',
      'Lock and tracker (teebox)',
    ])
    await page.getByLabel('Device ID').fill(id)
    await page.getByLabel('Cart number').fill('9')
    await page.getByRole('button', { name: 'Add device' }).click()
    await page.getByRole('img', { name: 'QR' }).waitFor()
    await audit()
    const password = (await page.locator('.facts .address').nth(1).textContent()) ?? ''
    const device = await gateway.connect(id, password)
    // the page was opened on the gateway's own computer
    await page.getByText('Works only on the gateway computer itself.').waitFor()
    const place = page.url().replace('devices/new', `devices/id/${id}`)
    const question = page.getByRole('dialog', { name: '1 password is neither printed nor saved' })
    await page.goto(place)
    await question.getByRole('button', { name: 'Stay here' }).click()
    await page.getByRole('img', { name: 'QR' }).waitFor()
    assert.match(page.url(), /devices\/new$/)
    await page.goto(place)
    await question.getByRole('button', { name: 'Leave' }).click()
    const positions = page.locator('dd').filter({ hasText: /^\d+ \/ \d+$/ })
    await positions.filter({ hasText: '0 / 0' }).waitFor()
    await device.publishAsync(`dev/${id}/tlm`, '{"lat":28.41,"long":-81.58}', { qos: 1 })
    await positions.filter({ hasText: '1 / 0' }).waitFor()
    await page.getByRole('button', { name: 'New password' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'New password' }).click()
    await page.getByRole('img', { name: 'QR' }).waitFor()
    const focused = page.locator('h2:focus')
    await focused.waitFor()
    const { y = -1 } = (await focused.boundingBox()) ?? {}
    const { height = 0 } = page.viewportSize() ?? {}
    assert.ok(y >= 0 && y < height / 2, `the new password is ${y} of ${height} px down the window`)
    await assert.rejects(gateway.connect(id, password))
    await page.getByRole('button', { name: 'Delete' }).click()
    const sure = page.getByRole('dialog').getByRole('button', { name: 'Delete' })
    assert.equal(await sure.isDisabled(), true)
    await page.getByLabel(`Type ${id} to confirm`).fill(id)
    await audit()
    await sure.click()
    await sure.waitFor({ state: 'detached' })
    await page.getByRole('searchbox', { name: 'Name, ID or cart' }).waitFor()
    assert.equal((await gateway.request('GET', `/devices/${id}`)).status, 404)
  },
)

stage.test('the page of a deleted device reports the deletion', async ({ page, open, faults, gateway }) => {
  faults.forgive(answered(404))
  await gateway.device('tb-gone')
  await open('/app/#/more/devices/tb-gone', 'admin')
  await page.getByRole('button', { name: 'New password' }).waitFor()
  await gateway.request('DELETE', '/devices/tb-gone')
  await page.getByText('This device was deleted.').waitFor()
  assert.equal(await page.getByText('Admins only.').count(), 0)
})

stage.eachSetup('a fleet comes from a spreadsheet', async ({ page, open, audit, faults, gateway }) => {
  faults.forgive(answered(400))
  const round = ++count
  const file = (text: string) => ({
    name: 'carts.csv',
    mimeType: 'application/vnd.ms-excel',
    buffer: Buffer.from(text, 'latin1'),
  })
  await open('/app/#/more/devices/import', 'admin')
  await page.getByLabel('CSV file').setInputFiles(file('hardware_id;device_type;group\na;teebox;South\nb;tractor;\n'))
  await page.getByText('2 lines have errors. Nothing imported.').first().waitFor()
  await page.getByText('Line 2: Group “South” is unknown').waitFor()
  await page.getByText('Line 3: Type “tractor” is unknown').waitFor()
  const chosen = page.getByLabel('CSV file')
  assert.match(String(await chosen.evaluate((input: { value: string }) => input.value)), /carts\.csv$/)
  await audit()
  const rows = Array.from({ length: 40 }, (_, i) => `f-${round}-${i};teebox;M\xfchle ${i};North\n`).join('')
  await page.getByLabel('CSV file').setInputFiles(file(`hardware_id;device_type;name;group\n${rows}`))
  await page.getByText('40 new, 0 changed, 0 unchanged.').waitFor()
  assert.equal((await gateway.request('GET', `/devices/f-${round}-1`)).status, 404)
  await page.getByRole('button', { name: 'Import' }).click()
  await audit()
  await page.getByRole('dialog').getByRole('button', { name: 'Import' }).click()
  await page.getByText('40 passwords (shown once)').waitFor()
  await audit()
  const saving = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export CSV' }).click()
  const csv = readFileSync(await (await saving).path(), 'utf8')
  const [, first = ''] = csv.split('\r\n')
  const [id = '', name, , mqtt, user, password = ''] = first.split(',')
  assert.deepEqual([id, name, user], [`f-${round}-0`, 'Mühle 0', id])
  assert.equal(mqtt, gateway.mqtt)
  await gateway.connect(id, password)

  // the browser of the test has no printer
  await page.evaluate('window.print = () => undefined')
  await page.getByRole('button', { name: 'Print' }).click()
  await page.locator('.credential-cell').nth(39).waitFor({ state: 'attached' })
  await page.emulateMedia({ media: 'print' })
  assert.equal(await page.locator('.credential-cell').first().isVisible(), true)
  assert.equal(await page.getByRole('button', { name: 'Print' }).isVisible(), false)
  const pages = (await page.pdf({ format: 'A4' })).toString('latin1').match(/\/Type \/Page\b/g)
  assert.ok((pages?.length ?? 0) > 1 && (pages?.length ?? 0) < 8, `${pages?.length} pages`)
  await page.emulateMedia({ media: 'screen' })
  await page.evaluate("dispatchEvent(new Event('afterprint'))")
  assert.equal(await page.locator('.credential-cell').count(), 0)
})

stage.test('the sample file can be imported, and a workbook is rejected with the way to CSV', async (t) => {
  const { page, open, faults, gateway } = t
  faults.forgive(answered(400))
  await gateway.request('PATCH', '/site', { body: { language: 'de' } })
  await open('/app/#/more/devices/import', 'admin')
  const saving = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Beispieldatei herunterladen' }).click()
  const sample = readFileSync(await (await saving).path())
  assert.match(sample.toString(), /^\ufeffGeräte-ID;Typ;Name;Cart-Nummer;Gruppe\r\n/)
  const field = page.getByLabel('CSV-Datei')
  const workbook = { name: 'carts.xlsx', mimeType: '', buffer: Buffer.from('PK\u0003\u0004') }
  await field.setInputFiles(workbook)
  await page.getByText('Zeile 1: das ist eine Excel-Datei. Als CSV speichern').waitFor()
  await field.setInputFiles({ name: 'sample.csv', mimeType: 'text/csv', buffer: sample })
  await page.getByText('2 neu, 0 geändert, 0 unverändert.').waitFor()
  await gateway.request('PATCH', '/site', { body: { language: 'en' } })
})

stage.eachSetup('a group is made, filled, set and deleted', async ({ page, open, audit, gateway }) => {
  const name = `Group ${++count}`
  const id = `m-${count}`
  await gateway.register(id)
  await open('/app/#/more/groups', 'admin')
  await page.getByLabel('Name', { exact: true }).fill(name)
  await audit()
  await page.getByRole('button', { name: 'New group' }).click()
  await page.getByLabel('Add device').selectOption(id)
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('heading', { name: '1 device' }).waitFor()
  await page.getByLabel('Device type').selectOption('teebox')
  await page.getByLabel('key_keyless_state').selectOption('keyless')
  await audit()
  await page.getByRole('button', { name: 'Save' }).click()
  const keyless = async () => {
    const { body: config } = await gateway.request('GET', `/devices/${id}/config`)
    return config.resolved.key_keyless_state === 'keyless'
  }
  await eventually(keyless, 'the setting of the group')
  await page.getByRole('button', { name: `Remove: ${id}` }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('heading', { name: '0 devices' }).waitFor()
  await page.getByRole('button', { name: 'Delete group' }).click()
  await audit()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete group' }).click()
  await page.getByRole('button', { name: 'New group' }).waitFor()
  const { body } = await gateway.request('GET', '/groups')
  assert.ok(body.every((group: { name: string }) => group.name !== name))
})

stage.test(
  'a setting that the device type does not allow is reported at its field',
  async ({ page, open, faults, gateway }) => {
    faults.forgive(answered(400))
    await gateway.request('PUT', '/device-types/mower', {
      body: {
        defaults: { speed: 5 },
        commands: {},
        config_schema: { type: 'object', properties: { speed: { type: 'number', maximum: 10 } } },
      },
    })
    await gateway.register('mower-1', 'mower')
    await open('/app/#/more/devices/id/mower-1', 'admin')
    for (const layer of ['Edit for this device', 'Edit for type']) {
      await page.getByRole('button', { name: layer }).click()
      await page.getByLabel('speed').fill('11')
      await page.locator('form').filter({ hasText: '(JSON)' }).getByRole('button', { name: 'Save' }).click()
      await page.getByRole('alert').getByText('must be a number up to 10').waitFor()
      assert.equal(await page.getByLabel('speed').getAttribute('aria-invalid'), 'true')
    }
  },
)
