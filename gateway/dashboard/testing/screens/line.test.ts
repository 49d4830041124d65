import assert from 'node:assert/strict'
import { LINE_GONE } from '../page-faults.ts'
import { createStage } from '../stage.ts'

/** By which the app must have said so, and what a busy machine may take beside. */
const CLOSED_SAID_MS = 5_000
const SILENT_SAID_MS = 20_000
const SLACK_MS = 5_000

const stage = createStage({
  prepare: async ({ course }) => {
    await course.cart('17')
  },
})

stage.test('a line that is closed is said within 5 s, and live again when it is back', async (scene) => {
  const { page, link, faults, open } = scene
  faults.forgive(LINE_GONE)
  await open()
  const banner = page.getByRole('status').getByText('No contact')
  await page.getByText('Live', { exact: false }).first().waitFor()
  assert.equal(await banner.count(), 0)
  link.cut()
  await banner.waitFor({ timeout: CLOSED_SAID_MS + SLACK_MS })
  link.restore()
  await banner.waitFor({ state: 'detached' })
})

stage.test('a line that falls silent is said within 20 s', async (scene) => {
  const { page, link, faults, open } = scene
  faults.forgive(LINE_GONE)
  await open()
  const banner = page.getByRole('status').getByText('No contact')
  await page.getByText('Live', { exact: false }).first().waitFor()
  link.freeze()
  await banner.waitFor({ timeout: SILENT_SAID_MS + SLACK_MS })
  link.restore()
  await banner.waitFor({ state: 'detached' })
})
