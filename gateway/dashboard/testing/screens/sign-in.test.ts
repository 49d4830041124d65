import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { ADMIN_KEY } from '#testing/start-gateway.ts'
import { answered } from '../page-faults.ts'
import { createStage } from '../stage.ts'

/** Of everything a tablet loads that was never here, until the map is shown. */
const FIRST_LOAD_KB = 180

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

stage.test('what a tablet loads at first is small', async ({ page, open }) => {
  const loading = new Map<string, Promise<number>>()
  page.on('response', (response) => {
    const { pathname } = new URL(response.url())
    if (pathname.startsWith('/app/')) loading.set(pathname, response.body().then(gzipLength(pathname)))
  })
  await open('/app/')
  await page.getByRole('heading', { name: 'Needs you' }).waitFor()
  await page.waitForLoadState('networkidle')
  const sizes = await Promise.all(loading.values())
  const kilobytes = sizes.reduce((sum, size) => sum + size, 0) / 1000
  assert.ok(
    kilobytes > 100 && kilobytes <= FIRST_LOAD_KB,
    `${kilobytes} KB in ${[...loading.keys()].join(', ')}`,
  )
})

/** Fonts are compressed by themselves. */
function gzipLength(path: string): (body: Buffer) => number {
  return (body) => (path.endsWith('.woff2') ? body.length : gzipSync(body, { level: 9 }).length)
}
