import assert from 'node:assert/strict'
import { createStage } from '../stage.ts'

const stage = createStage({
  prepare: async ({ course }) => {
    for (const number of ['41', '42']) await course.cart(number)
  },
})

stage.eachSetup('a plan is added, its service falls due, is done, and the plan deleted', async (scene) => {
  const { page, open, audit, gateway } = scene
  const made = (await gateway.request('GET', '/service-plans')).body
  for (const { plan_id } of made) await gateway.request('DELETE', `/service-plans/${plan_id}`)
  await open('/app/#/more/service', 'admin')
  await page.getByText('No matching services.').waitFor()
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Plans' }).click()
  await dialog.getByRole('button', { name: 'Add a plan' }).click()
  await dialog.getByLabel('Name').fill('Brakes')
  await dialog.getByLabel('Every … hours out').fill('ten')
  assert.ok(await dialog.getByRole('button', { name: 'Save' }).isDisabled())
  await dialog.getByLabel('Every … hours out').fill('10')
  await audit()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('Brakes · Every 10 hours out').waitFor()
  await audit()
  await dialog.getByRole('button', { name: 'Close' }).click()
  const row = page.getByRole('row', { name: 'Cart 41: Brakes' })
  await row.getByText('Not due: 10 h left').waitFor()
  const { hours } = (await gateway.request('GET', '/carts/41/meter')).body
  await gateway.request('PATCH', '/carts/41', { body: { meter: { hours: hours + 12 } } })
  await page.reload()
  await row.getByText('Due: 2 h over').waitFor()
  await audit()
  await page.getByLabel('State').selectOption('Due')
  await page.getByRole('row', { name: 'Cart 42: Brakes' }).waitFor({ state: 'detached' })
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export CSV' }).click(),
  ])
  assert.equal(file.suggestedFilename(), 'service-due.csv')
  await row.getByRole('button', { name: 'Done: 41, Brakes' }).click()
  await dialog.getByLabel('Done by').fill('Workshop')
  await dialog.getByLabel('Cost').fill('49,5')
  await audit()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Entry saved: cart 41.').waitFor()
  await page.getByText('No matching services.').waitFor()
  const [entry] = (await gateway.request('GET', '/service-entries?cart=41')).body.entries
  assert.deepEqual([entry.what, entry.done_by, entry.cost], ['Brakes', 'Workshop', 49.5])
  await page.getByRole('button', { name: 'Plans' }).click()
  const remove = page.getByRole('button', { name: 'Delete plan Brakes?' })
  await remove.click()
  await page.getByRole('dialog', { name: 'Delete plan Brakes?' }).getByRole('button', { name: 'Delete' }).click()
  await remove.waitFor({ state: 'detached' })
  assert.deepEqual((await gateway.request('GET', '/service-plans')).body, [])
})

stage.test('a card shows the service book, and a reason is one tap', async ({ page, open, audit, gateway }) => {
  await gateway.request('POST', '/service-plans', { body: { name: 'Tyres', every: { days: 90 } } })
  await open('/app/#/fleet/42', 'staff')
  const card = page.getByRole('region', { name: 'Cart 42' })
  await card.getByText('More actions').click()
  await card.getByRole('button', { name: 'Out of service' }).click()
  const dialog = page.getByRole('dialog')
  await audit()
  await dialog.getByRole('button', { name: 'Tyre', exact: true }).click()
  await card.getByText(/^Out of service: Tyre/).waitFor()
  const { reason } = (await gateway.request('GET', '/carts/42')).body.out_of_service
  assert.equal(reason, 'tyre')
  await gateway.request('PATCH', '/carts/42', { body: { out_of_service: null } })
  await card.getByRole('button', { name: 'Service', exact: true }).click()
  await dialog.getByText('Not due: 90 days left').waitFor()
  await dialog.getByText(/· Tyre$/).waitFor()
  await audit()
  await dialog.getByRole('button', { name: 'Add' }).click()
  await dialog.getByLabel('What was done').fill('Pressure')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText(/· Pressure$/).waitFor()
})
