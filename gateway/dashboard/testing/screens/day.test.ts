import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { eventually } from '#shared/testing/eventually.ts'
import { answered } from '../page-faults.ts'
import { seedMorning, YESTERDAY } from '../seeded-day.ts'
import { createStage } from '../stage.ts'

const stage = createStage({
  prepare: async ({ course, gateway }) => {
    const cart = await course.cart('17')
    await seedMorning(gateway, 'teebox-17')
    await cart.turnsLock('unlock')
    await course.cart('18')
    await gateway.request('PATCH', '/devices/teebox-18', { body: { cart: 'A/1' } })
  },
})

const slider = (page: Page) => page.getByRole('slider', { name: 'Time' })
const momentOf = async (page: Page) => (await slider(page).getAttribute('aria-valuetext')) ?? ''
const toDay = (cart: string, date: string) => `/app/#/more/${encodeURIComponent(`day/${cart}/${date}`)}`

stage.eachSetup('the day of a cart is one tap from its card, and is played back', async ({ page, open, audit }) => {
  await open('/app/#/map/17')
  await page.getByText('More actions').click()
  await page.getByRole('link', { name: 'History' }).click()
  const list = page.getByRole('list', { name: 'Events' })
  await list.getByRole('button', { name: /Unlocked, RFID tag 04A1B2C3/ }).waitFor()
  await page.getByRole('button', { name: 'Previous day' }).click()
  const day = page.getByLabel('Day', { exact: true })
  await eventually(async () => (await day.inputValue()) === YESTERDAY, 'the previous day')
  await page.getByText(/1 trip, \d\.\d km/).waitFor()
  await list.getByRole('button', { name: /^08:00 Stopped for 30 min/ }).click()
  assert.equal(await momentOf(page), '08:00:00')
  await page.getByText('Stopped · 50.8 V').waitFor()
  await list.getByRole('button', { name: /^08:30 Drove/ }).click()
  await page.getByText(/^Driving, 15 km\/h · 50\.3 V$/).waitFor()
  await audit()
  await page.getByRole('button', { name: 'Play', exact: true }).click()
  await eventually(async () => (await momentOf(page)) > '08:31:00', 'a minute goes by in a second')
  await page.getByRole('button', { name: 'Pause' }).click()
  const paused = await momentOf(page)
  await slider(page).press('ArrowRight')
  assert.notEqual(await momentOf(page), paused)
})

stage.test('a tap on the charts selects that time, and the slider reaches both ends', async ({ page, open }) => {
  await open(toDay('17', YESTERDAY))
  await slider(page).press('Home')
  assert.equal(await momentOf(page), '08:00:00')
  await slider(page).press('End')
  const end = await momentOf(page)
  const chart = await page.locator('.time-field').boundingBox()
  assert.ok(chart !== null)
  await page.mouse.click(chart.x + chart.width / 2, chart.y + 20)
  const middle = await momentOf(page)
  assert.ok(middle > '08:20' && middle < end, `${middle} of ${end}`)
})

stage.test('a day without records, a future day and an unknown cart get an explanation', async (scene) => {
  const { page, open, faults } = scene
  await open(toDay('A/1', '2020-02-29'))
  await page.getByText('No positions this day.').waitFor()
  await page.getByRole('combobox', { name: 'Which cart?' }).selectOption('Cart 17')
  await page.getByText('No positions this day.').waitFor()
  assert.match(page.url(), /day\/17\/2020-02-29$/)
  await open(toDay('17', '2999-01-01'), null)
  await page.getByText('This day is in the future.').waitFor()
  faults.forgive(answered(404))
  await open(toDay('nobody', YESTERDAY), null)
  await page.getByText('there is no cart nobody').waitFor()
})

stage.test('a player sees the day of a cart in scope, and which page it is', async ({ page, open }) => {
  await open('/app/#/more', 'user')
  await page.getByRole('link', { name: 'Cart day' }).click()
  await page.getByRole('combobox', { name: 'Which cart?' }).selectOption('Cart 17')
  await page.getByRole('button', { name: 'Previous day' }).click()
  await page.getByText(/1 trip/).waitFor()
})

stage.test('on a course in Berlin the day is local, and the text is German', async ({ page, open, gateway }) => {
  await gateway.request('PATCH', '/site', { body: { time_zone: 'Europe/Berlin', language: 'de' } })
  try {
    await open(toDay('17', YESTERDAY))
    await page
      .getByRole('list', { name: 'Ereignisse' })
      .getByRole('button', { name: /^(09|10):30 Fuhr/ })
      .waitFor()
  } finally {
    await gateway.request('PATCH', '/site', { body: { time_zone: 'UTC', language: 'en' } })
  }
})

/** Screens with measurements, and a pattern of their first text. */
const MEASURING: Readonly<Record<string, RegExp>> = {
  '#/map/17': /^\d+ yd$/,
  '#/fleet': /^Fleet$/,
  '#/more/barn': /^\d+ yd$/,
  '#/more/site': /^Do not lock above, mph$/,
  '#/more/course': /^\d+ yd$/,
  '#/more/replay': /^\d+ yd$/,
  '#/more/zones': /^\d+ yd$/,
  '#/more/reports': /^\d+ carts, .* mi$/,
}
const METRIC = /km\/h|[\d.,] ?km\b|\d ?m\b|\bmetres?\b/

stage.test('with imperial units no screen shows metres', async ({ page, open, gateway }) => {
  await gateway.request('PATCH', '/site', { body: { units: 'imperial' } })
  try {
    const readAll = async (where: string) => {
      // the name of the other choice
      const text = (await page.locator('body').innerText()).replace('Kilometres, metres', '')
      assert.doesNotMatch(text, METRIC, where)
      return text
    }
    await open(toDay('17', YESTERDAY), 'admin')
    await page.getByText(/1 trip, \d\.\d mi/).waitFor()
    await page
      .getByRole('list', { name: 'Events' })
      .getByRole('button', { name: /^8:30.AM Drove/ })
      .click()
    await page.getByText(/^Driving, 9 mph/).waitFor()
    assert.match(await readAll('day'), /Speed \(mph\)/)
    for (const [hash, text] of Object.entries(MEASURING)) {
      await page.goto(`${new URL(page.url()).origin}/app/${hash}`)
      await page.getByText(text).first().waitFor()
      await readAll(hash)
    }
  } finally {
    await gateway.request('PATCH', '/site', { body: { units: 'metric' } })
  }
})
