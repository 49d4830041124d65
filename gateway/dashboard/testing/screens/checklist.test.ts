import { createStage } from '../stage.ts'

const stage = createStage()

stage.eachSetup('the checklist shows the state of the set-up until it is hidden', async (scene) => {
  const { page, open, audit, gateway } = scene
  await gateway.request('DELETE', '/devices/cl-1')
  await gateway.request('PATCH', '/site', { body: { hide_checklist: null } })
  await open('/app/', 'admin')
  await page.getByRole('heading', { name: 'Set up' }).waitFor()
  await page.getByText('No carts yet.').waitFor()
  await page.getByRole('link', { name: 'Barn Done' }).waitFor()
  await audit()
  const devices = page.getByRole('link', { name: /^Devices/ })
  await devices.getByText('Add locks, trackers and screens').waitFor()
  await gateway.register('cl-1')
  await devices.getByText('Done: 1').waitFor()
  await page.getByRole('link', { name: 'Backup None in the last 36 hours' }).click()
  await page.getByRole('heading', { name: 'Backups', exact: true }).waitFor()
  await page.goBack()
  await page.getByRole('button', { name: 'Hide checklist' }).click()
  await audit()
  await page.getByRole('dialog').getByRole('button', { name: 'Hide checklist' }).click()
  await page.getByRole('heading', { name: 'Set up' }).waitFor({ state: 'detached' })
  await page.reload()
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor()
  await page.waitForTimeout(500)
  await page.getByRole('heading', { name: 'Set up' }).waitFor({ state: 'detached' })
})

stage.test('staff have no checklist', async ({ page, open, gateway }) => {
  await gateway.request('PATCH', '/site', { body: { hide_checklist: null } })
  await open('/app/', 'staff')
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor()
  await page.waitForTimeout(500)
  await page.getByRole('heading', { name: 'Set up' }).waitFor({ state: 'detached' })
})
