import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { eventually } from '#shared/testing/eventually.ts'
import { LINE_GONE } from '../page-faults.ts'
import { seedMorning, YESTERDAY } from '../seeded-day.ts'
import { createStage } from '../stage.ts'

const stage = createStage({
  prepare: async ({ course, gateway }) => {
    await course.cart('17')
    await seedMorning(gateway, 'teebox-17')
    const lost = await course.cart('20')
    await lost.drives('road')
    await course.becomes('20', ({ open_alerts }) => open_alerts.length > 0, 'is outside')
  },
})

const slider = (page: Page) => page.getByRole('slider', { name: 'Time' })
const momentOf = async (page: Page) => (await slider(page).getAttribute('aria-valuetext')) ?? ''
const goTo = (page: Page, time: string) => slider(page).fill(String(Date.parse(`${YESTERDAY}T${time}Z`)))

stage.eachSetup('any minute of a day is shown as it was, and the replay continues', async ({ page, open, audit }) => {
  await open(`/app/#/more/${encodeURIComponent(`replay/${YESTERDAY}`)}`)
  await goTo(page, '08:10:00')
  await page.getByText('0 on the course, 1 in the barn, 0 off course').waitFor()
  await goTo(page, '08:35:00')
  await page.getByText('1 on the course, 0 in the barn, 0 off course').waitFor()
  await page.getByText('No alerts on this day.').waitFor()
  await page.getByText(/after 15 min without a position/).waitFor()
  await audit()
  await page.getByRole('combobox', { name: 'Playback speed' }).selectOption('120 ×')
  await page.getByRole('button', { name: 'Play', exact: true }).click()
  await page.getByText('0 on the course, 1 in the barn').waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  assert.match(await momentOf(page), /^08:4/)
  await goTo(page, '00:00:00')
  await page.getByText('No cart data yet at this time.').waitFor()
})

stage.test('an alert of the day is shown where it was opened, and on its cart’s card', async ({ page, open }) => {
  await open('/app/#/more')
  await page.getByRole('link', { name: 'Replay a day' }).click()
  // the alert bar names the cart as well
  const list = page.getByRole('list', { name: 'Alerts that day' })
  await list.getByRole('button', { name: /Cart 20: Off course/ }).click()
  const card = page.getByRole('region', { name: 'Cart 20' })
  await card.getByText(/^Off course · Off course/).waitFor()
  await card.getByRole('link', { name: 'History' }).click()
  await page.getByRole('list', { name: 'Events' }).getByText('Off course').waitFor()
})

stage.test('a failed load is shown, and its data once it succeeds', async ({ page, open, link, faults }) => {
  await open('/app/#/more/replay')
  await slider(page).waitFor()
  faults.forgive(LINE_GONE)
  link.cut()
  await page.getByRole('button', { name: 'Previous day' }).click()
  await page.getByRole('button', { name: 'Try again' }).waitFor()
  link.restore()
  await eventually(async () => {
    const again = page.getByRole('button', { name: 'Try again' })
    if (await again.isVisible()) await again.click()
    return page.getByText('0 on the course, 1 in the barn').isVisible()
  }, 'the morning is shown')
})
