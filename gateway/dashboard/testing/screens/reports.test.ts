import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import type { TestGateway } from '#testing/start-gateway.ts'
import { holdMessages } from '../held-messages.ts'
import { PLACES, type Place, toLatLong } from '../places.ts'
import type { Scene } from '../scene.ts'
import { createStage } from '../stage.ts'

const NOW_MS = Date.now()
/** Offset from UTC at which it is noon now, so that these mornings are mornings at any hour of the test. */
const HOURS_AHEAD = 12 - new Date(NOW_MS).getUTCHours()

/** Sends three mornings of a cart, the newest a few hours ago: out to the green and back; `sagsV` lower each day. */
async function sendDays(gateway: TestGateway, number: string, sagsV: number, silentMs = 0): Promise<void> {
  const hardwareId = `past-${number}`
  const body = { hardware_id: hardwareId, device_type: 'teebox', cart: number }
  const { mqtt } = (await gateway.request('POST', '/devices', { body })).body
  const client = await gateway.connect(hardwareId, mqtt.password)
  for (const daysAgo of [2, 1, 0]) {
    const endMs = NOW_MS - daysAgo * 24 * HOUR_MS - MINUTE_MS
    const startMs = endMs - 3 * HOUR_MS
    const samples = []
    for (let atMs = startMs; atMs < endMs; atMs += 20_000) {
      const share = (atMs - startMs) / (3 * HOUR_MS)
      const isOut = share > 0.3 && share < 0.9
      // without a signal at the green
      if (share > 0.6 && atMs < startMs + 0.6 * 3 * HOUR_MS + silentMs) continue
      const place: Place = isOut ? wayAt((share - 0.3) / 0.6) : PLACES.barn
      const speed = isOut ? 12 : 0
      const volts = (isOut ? 47 : 50.5) + sagsV * (2 - daysAgo)
      samples.push({ ts: atMs, ...toLatLong(place), speed, battery_voltage: Math.round(volts * 100) / 100 })
    }
    for (let at = 0; at < samples.length; at += 400)
      await client.publishAsync(`dev/${hardwareId}/tlm`, JSON.stringify(samples.slice(at, at + 400)), {
        qos: 1,
      })
  }
  await client.endAsync()
}

/** Returns the position on a drive to the green and back. */
function wayAt(share: number): Place {
  const there = share < 0.5 ? share * 2 : 2 - share * 2
  return { eastM: 60 + PLACES.green.eastM * there, northM: 60 + PLACES.green.northM * there }
}

const stage = createStage({
  // POSIX writes offsets ahead of UTC with a minus
  course: { site: { time_zone: `Etc/GMT${HOURS_AHEAD > 0 ? '-' : '+'}${Math.abs(HOURS_AHEAD)}` } },
  prepare: async ({ gateway }) => {
    await sendDays(gateway, '7', -0.4)
    await sendDays(gateway, '12', 0)
    await sendDays(gateway, '3', -0.1, 30 * MINUTE_MS)
  },
})

/** Returns the carts of a table; the month may have begun after the first of these days. */
async function cartsIn({ page }: Scene, table: RegExp): Promise<string[]> {
  const rows = page.getByRole('table', { name: table }).locator('tbody tr')
  await rows.first().waitFor()
  return rows.locator('td:first-child').allInnerTexts()
}

stage.eachSetup('how carts were used in a month: table, chart, file and sheet', async (scene) => {
  const { page, open, audit } = scene
  await open('/app/#/more')
  await page.getByRole('link', { name: 'Reports' }).click()
  await page.getByText('Hours out of the barn').waitFor()
  assert.deepEqual((await cartsIn(scene, /^Usage/)).toSorted(), ['12', '3', '7'])
  await page.getByText('Hours out by day: all carts').waitFor()
  await page.locator('.report-chart canvas').waitFor()
  await audit()
  await page.getByRole('button', { name: 'Chart of cart 12' }).click()
  await page.getByText('Hours out by day: cart 12').waitFor()
  await page.getByRole('columnheader').getByRole('button', { name: 'Cart' }).click()
  assert.deepEqual(await cartsIn(scene, /^Usage/), ['3', '7', '12'])
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export CSV' }).click(),
  ])
  const text = readFileSync(await download.path(), 'utf8')
  assert.match(text, /^\ufeffcart,date,hours_out,distance,rounds/)
  await page.emulateMedia({ media: 'print' })
  await page.getByText(/^Pine Hollow · /).waitFor()
  assert.ok(await page.getByRole('table').isVisible())
  assert.equal(await page.getByRole('navigation').first().isVisible(), false)
  await page.emulateMedia({ media: 'screen' })
  await page.getByRole('button', { name: 'Earlier' }).click()
  await page.getByRole('button', { name: 'Earlier' }).click()
  await page.getByText('No data for this period.').waitFor()
  await audit()
})

// at the last morning 7 has lost 0.8 V and 3 0.2 V
stage.eachSetup('packs: the weak ones first', async (scene) => {
  const { page, open, audit } = scene
  await open('/app/#/more/reports/batteries')
  assert.deepEqual(await cartsIn(scene, /^Batteries/), ['7', '3', '12'])
  await page.getByText(/^Volts by day: cart 7/).waitFor()
  await page.locator('.report-chart canvas').waitFor()
  await audit()
})

stage.eachSetup('where the traffic was in a week', async ({ page, open, audit }) => {
  await open('/app/#/more/reports/traffic')
  await page.getByRole('heading', { name: 'Time spent' }).waitFor()
  await page
    .getByText(/or more$/)
    .first()
    .waitFor()
  await audit()
  await page.getByRole('button', { name: 'Earlier' }).click()
  await page.getByText('No carts were out in this period.').waitFor()
})

stage.eachSetup('where carts fell silent in a week', async ({ page, open, audit }) => {
  await open('/app/#/more/reports/silence')
  const row = page.getByRole('button', { name: /^Cart 3/ }).first()
  await row.waitFor()
  await audit()
  await row.click()
  await page.getByRole('button', { name: /^Cart 3/, pressed: true }).waitFor()
  await audit()
})

stage.eachSetup('what happened on a day: figures by section, and as a sheet', async (scene) => {
  const { page, open, audit } = scene
  await open('/app/#/more/reports/day')
  await page.getByRole('heading', { name: 'Rounds and pace' }).waitFor()
  await audit()
  await page.getByRole('button', { name: 'Previous day' }).click()
  await page.getByRole('heading', { name: 'Batteries and service' }).waitFor()
  await page.emulateMedia({ media: 'print' })
  assert.ok(await page.getByRole('heading', { name: 'Batteries and service' }).isVisible())
  await page.emulateMedia({ media: 'screen' })
})

stage.test('the squares are drawn on the map', async ({ page, open }) => {
  await open('/app/#/more/reports/traffic')
  await page.getByRole('heading', { name: 'Time spent' }).waitFor()
  // the darkest class: nothing else on the map has this colour
  await page.waitForFunction(`(() => {
    const isDark = (r, g, b) => Math.abs(r - 0xe8) + Math.abs(g - 0x95) + Math.abs(b - 0x3a) < 24
    return [...document.querySelectorAll('.ol-viewport canvas')].some((canvas) => {
      const { width, height } = canvas
      if (width === 0 || height === 0) return false
      const { data } = canvas.getContext('2d').getImageData(0, 0, width, height)
      for (let i = 0; i < data.length; i += 4)
        if (data[i + 3] > 200 && isDark(data[i], data[i + 1], data[i + 2])) return true
      return false
    })
  })()`)
})

stage.test('a user has no reports', async ({ page, open }) => {
  await open('/app/#/more/reports', 'user')
  await page.getByRole('heading', { name: 'More' }).waitFor()
  assert.equal(await page.getByRole('link', { name: 'Reports' }).count(), 0)
})

stage.test('a page opened at a report waits for the time from the gateway', async (scene) => {
  const { page, open } = scene
  const asked: string[] = []
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url())
    if (pathname.startsWith('/reports/')) asked.push(search)
  })
  const release = await holdMessages(page, 'connected')
  for (const name of ['traffic', 'use']) {
    await open(`/app/#/more/reports/${name}`)
    await page.locator(`.reports-names [href$="/${name}"][aria-current="page"]`).waitFor()
    await page.locator('main').getByText('Loading …').waitFor()
  }
  assert.deepEqual(asked, [])
  release()
  await page.getByRole('table').getByRole('row').nth(1).waitFor()
  const year = new Date(NOW_MS).getUTCFullYear()
  for (const search of asked) assert.match(search, new RegExp(`=(${year - 1}|${year}|${year + 1})-`))
})
