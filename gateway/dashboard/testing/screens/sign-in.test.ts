import { ADMIN_KEY } from '#testing/start-gateway.ts'
import { answered } from '../page-faults.ts'
import { createStage } from '../stage.ts'

const stage = createStage()

stage.eachLook('a key that is typed in opens the map, and a wrong one is said to be wrong', async (scene) => {
  const { page, faults, open, audit } = scene
  // who is nobody asks who it is, and a wrong key is refused
  faults.forgive(answered(401))
  await open('/app/', null)
  await page.getByLabel('Key').fill('flt_this_key_opens_nothing_at_all')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').waitFor()
  await audit()
  await page.getByLabel('Key').fill(ADMIN_KEY)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'Map' }).waitFor()
  await audit()
})
