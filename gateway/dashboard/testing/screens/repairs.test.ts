import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { createStage } from '../stage.ts'

const folder = mkdtempSync(join(tmpdir(), 'cartbarn-app-repairs-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const stage = createStage({
  settings: { CARTBARN_BACKUP_TO: `${folder}/`, CARTBARN_BACKUP_PASSPHRASE: 'the nineteenth hole' },
})

stage.test('findings in German have a command where the gateway cannot act', async ({ page, open, audit, gateway }) => {
  await gateway.request('PATCH', '/site', { body: { language: 'de' } })
  await open('/app/#/more/repairs', 'admin')
  const near = page.locator('section', { hasText: 'Risiko: Sicherungen' }).filter({ hasText: 'liegt auf dem Speicher' })
  await near.getByText('CARTBARN_BACKUP_TO auf einen anderen Speicher setzen').waitFor()
  assert.equal(await near.getByRole('button').count(), 0)
  await page.getByRole('heading', { name: 'Risiko: Zertifikat' }).waitFor()
  await audit()
  await gateway.request('PATCH', '/site', { body: { language: 'en' } })
})

stage.eachSetup('the gateway backs up and confirms its clock from the list of faults', async (scene) => {
  const { page, open, audit, gateway } = scene
  const finding = (text: string) => page.locator('section').filter({ hasText: text })
  await open('/app/#/more', 'admin')
  await page.getByRole('link', { name: 'Repairs' }).click()
  await finding('Risk: certificate').getByRole('link', { name: 'View' }).waitFor()
  await audit()
  const first = finding('None yet in')
  if ((await first.count()) > 0) {
    await first.getByRole('button', { name: 'Back up now' }).click()
    await audit()
    await page.getByRole('dialog').getByRole('button', { name: 'Back up now' }).click()
    await page.getByText('Backup started.').waitFor()
    // a backup leaves the processor to everything else
    await first.waitFor({ state: 'detached', timeout: 90_000 })
    await page.locator('section').filter({ hasText: 'Not confirmed' }).getByRole('button').click()
    await page.getByRole('dialog', { name: 'Confirm time?' }).waitFor()
    await audit()
    await page.getByRole('dialog').getByRole('button', { name: 'Confirm time' }).click()
    await page.getByText('Time confirmed.', { exact: true }).waitFor()
    await eventually(async () => (await gateway.request('GET', '/health')).body.clock === 'confirmed', 'the clock')
  }
  await gateway.request('PATCH', '/site', { body: { hide_checklist: true } })
  await page.reload()
  await page.getByRole('button', { name: 'Show checklist' }).click()
  await page.getByRole('button', { name: 'Show checklist' }).waitFor({ state: 'detached' })
  assert.equal((await gateway.request('GET', '/site')).body.hide_checklist, false)
})
