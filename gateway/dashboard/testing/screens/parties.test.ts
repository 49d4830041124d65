import assert from 'node:assert/strict'
import { eventually } from '#shared/testing/eventually.ts'
import { answered } from '../page-faults.ts'
import { createStage } from '../stage.ts'
import type { StagedCart } from '../staged-cart.ts'

const DATE = new Date().toISOString().slice(0, 10)
const carts: StagedCart[] = []
/** Hour of the tee times of each test. */
let hour = 20

const stage = createStage({
  prepare: async ({ course }) => {
    for (const number of ['31', '32', '33']) carts.push(await course.cart(number))
  },
})

const csv = (text: string) => ({ name: 'sheet.csv', mimeType: 'text/csv', buffer: Buffer.from(text) })

stage.eachSetup(
  'a sheet is imported after a preview, and a tee time gets its cart and gives it back',
  async (scene) => {
    const { page, open, audit, gateway, faults } = scene
    faults.forgive(answered(400))
    hour += 1
    const unlocked = () => carts.flatMap(({ received }) => received).filter(({ cmd }) => cmd === 'unlock').length
    const before = unlocked()
    const { parties } = (await gateway.request('GET', `/parties?date=${DATE}&state=booked`)).body
    for (const { party_id } of parties) await gateway.request('DELETE', `/parties/${party_id}`)
    await open('/app/#/more/parties', 'staff')
    await page.getByRole('button', { name: 'Import a sheet' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('CSV file').setInputFiles(csv('tee_time;players\n08:00;A\nnoon;B\n'))
    await dialog.getByText(/^Line 3: tee_time: must be HH:MM/).waitFor()
    await audit()
    assert.ok(await dialog.getByRole('button', { name: 'Import', exact: true }).isDisabled())
    await dialog
      .getByLabel('CSV file')
      .setInputFiles(csv(`tee_time;players;holes\n${hour}:10;Miller|Jones;18\n${hour}:20;Öztürk;9\n`))
    await dialog.getByText('2 new, 0 changed, 0 deleted.').waitFor()
    const listed = async () => (await gateway.request('GET', `/parties?date=${DATE}&state=booked`)).body.parties.length
    assert.equal(await listed(), 0)
    await dialog.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByRole('row', { name: `${hour}:20 Öztürk` }).waitFor()
    assert.equal(await listed(), 2)

    // two taps
    const row = page.getByRole('row', { name: `${hour}:10 Miller, Jones` })
    await row.getByRole('button', { name: `Give out: ${hour}:10 Miller, Jones` }).click()
    await dialog.getByLabel('Carts').waitFor()
    await audit()
    await dialog.getByRole('button', { name: 'Give out and unlock' }).click()
    await page.getByText(/^Given out: 3\d\.$/).waitFor()
    await row.getByText(/^Given out until \d\d:\d\d · 3\d$/).waitFor()
    await eventually(() => unlocked() === before + 1, 'the cart is unlocked')
    await audit()
    await row.getByRole('button', { name: /^Return: 3\d$/ }).click()
    await dialog.getByRole('button', { name: 'Return', exact: true }).click()
    await row.getByText('Returned', { exact: true }).waitFor()
    assert.equal((await gateway.request('GET', '/parties?state=out')).body.parties.length, 0)
  },
)

stage.test('a cart is given out from its card, shown and found with its player, and returned', async (scene) => {
  const { page, open, audit, gateway, faults } = scene
  faults.forgive(answered(409))
  await open('/app/#/fleet/33', 'staff')
  const card = page.getByRole('region', { name: 'Cart 33' })
  await card.getByRole('button', { name: 'Give out', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Players').fill('Miller, Jones')
  await audit()
  await dialog.getByRole('button', { name: 'Give out and unlock' }).click()
  await card.getByText(/^Given to Miller until \d\d:\d\d/).waitFor()
  await card.getByRole('heading', { name: 'Cart 33 (Miller)' }).waitFor()
  await page.getByRole('row', { name: 'Cart 33' }).getByText('Cart 33 (Miller)').waitFor()
  await audit()
  const [party] = (await gateway.request('GET', '/parties?state=out')).body.parties
  assert.deepEqual([party.players, party.carts.length], [['Miller', 'Jones'], 1])
  // another tablet was faster
  await gateway.request('PATCH', '/carts/32', { body: { out_of_service: { why: 'Tyre' } } })
  await open('/app/#/more/parties', 'staff')
  await page.getByRole('button', { name: 'Give out: without a tee time' }).click()
  await dialog.getByLabel('Carts').fill('31, 32')
  await dialog.getByRole('button', { name: 'Give out and unlock' }).click()
  await dialog.getByText('A cart is out of service.').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await open('/app/#/fleet/33', 'staff')
  await card.getByRole('button', { name: 'Return and lock: 33' }).click()
  await dialog.getByRole('button', { name: 'Return and lock' }).click()
  await card.getByText('Returned: 33.').waitFor()
})
