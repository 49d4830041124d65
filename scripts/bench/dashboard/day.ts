import type { Page } from 'playwright-core'
import { buildApp } from '#dashboard/testing/app-build.ts'
import { launchChromium } from '#dashboard/testing/chromium.ts'
import type { Figure } from '#scripts/rig/figures.ts'
import { peakDuring } from '#scripts/rig/quiet-memory.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { DAY_MS, HOUR_MS, toIso } from '#shared/time.ts'
import { FilledFolder, type FilledSample } from '../history/fill.ts'
import { recordFleet, recordSingle, samplesOfTracks } from '../history/history-parts.ts'
import { openPage, show } from './environment.ts'
import { secondsOf } from './probes.ts'
import { drawCourse } from './simulated-course.ts'

const CARTS = { full: 200, short: 20 }
const VOLTAGE_EVERY = 60
const WAIT = { timeout: 60_000 }
const shown = (what: string): Figure => ({ what: `${what}, until shown`, unit: ' s', target: ['<=', 2], digits: 2 })

/** Location of the histories, in the terms of the gateway and the page. */
interface Made {
  cart: string
  date: string
  /** Start of the fleet's day, which has twelve hours. */
  fleetMs: number
}

/** Measures the time to show a cart's day at one fix a second, and any minute of a day of the whole course. */
export const day = measurement({
  name: 'day',
  summary: `a cart's day at one fix a second, any minute of a day of ${CARTS.full} carts`,
  rounds: 5,
  figures: {
    day: shown("a cart's day of 86,400 positions"),
    minute: shown('a minute of the course in an hour that is not loaded'),
    track: { what: 'GET /carts/:cart/track of the day', unit: ' s', digits: 2 },
    replay: { what: 'GET /replay of an hour', unit: ' s', digits: 2 },
    peak: { what: 'highest memory of the gateway', unit: ' MB' },
  },
  async run(context) {
    const { isShort, rounds } = context
    const carts = isShort ? CARTS.short : CARTS.full
    await buildApp()
    const folder = await FilledFolder.create(context, 'day')
    const made = await fill(folder, carts)
    const gateway = await folder.start()
    await drawCourse(gateway.api, carts)
    const browser = await launchChromium()
    const url = `http://127.0.0.1:${gateway.ports.http}`
    const { page } = await openPage(browser, url, await gateway.api.createShop())
    await page.goto(`${url}/app/`)
    await show(page, 'Map')
    const values = { day: [] as number[], minute: [] as number[], track: [] as number[], replay: [] as number[] }
    const { peakBytes } = await peakDuring(gateway.process.pid, async () => {
      for (let round = 0; round < rounds; round++) {
        const hourMs = made.fleetMs + ((2 * round + 1) % 10) * HOUR_MS
        const track = { path: { cart: made.cart }, query: { date: made.date } }
        const hour = { from: toIso(hourMs), to: toIso(hourMs + HOUR_MS - 1) }
        values.track.push(await secondsOf(() => gateway.api.call('GET /carts/{cart}/track', track)))
        values.replay.push(await secondsOf(() => gateway.api.call('GET /replay', { query: hour })))
        values.day.push(await secondsOf(() => openDay(page, made)))
        await show(page, 'Map')
        values.minute.push(await openMinute(page, made, hourMs))
        await show(page, 'Map')
        printProgress(`  day ${values.day[round]?.toFixed(2)} s, minute ${values.minute[round]?.toFixed(2)} s`)
      }
    })
    await browser.close()
    await gateway.process.stop()
    return { ...values, peak: peakBytes / 1e6 }
  },
})

/** Fills twelve hours of carts that report every five seconds, and a day of one that reports every second. */
async function fill(folder: FilledFolder, carts: number): Promise<Made> {
  await folder.register(carts, 'cart')
  const [single] = await folder.register(1, 'single')
  const [fleetTracks, singleTrack] = [recordFleet(1), recordSingle(2)]
  await folder.fill(samplesOfTracks(folder.deviceIds('cart'), fleetTracks))
  await folder.fill(withVoltages(samplesOfTracks(folder.deviceIds('single'), [singleTrack])))
  const date = toIso((singleTrack.atMs[0] ?? 0) + DAY_MS).slice(0, 10)
  const fleetMs = Math.ceil((fleetTracks[0]?.atMs[0] ?? 0) / HOUR_MS) * HOUR_MS
  return { date, fleetMs, cart: single?.hardwareId ?? '' }
}

function* withVoltages(samples: Iterable<FilledSample>): Generator<FilledSample> {
  let count = 0
  for (const sample of samples)
    yield count++ % VOLTAGE_EVERY === 0 ? { ...sample, voltageMv: 51_000 - (count % 2_000) } : sample
}

function goTo(page: Page, path: string): Promise<unknown> {
  return page.evaluate(`location.hash = ${JSON.stringify(`#/more/${encodeURIComponent(path)}`)}`)
}

async function openDay(page: Page, { cart, date }: Made): Promise<void> {
  await goTo(page, `day/${cart}/${date}`)
  await page.locator('.day-chart canvas').nth(1).waitFor(WAIT)
  await page.getByText(/· \d+\.\d V$/).waitFor(WAIT)
}

/** Opens the replay, then an hour that has not been loaded yet; returns the seconds until that is shown. */
async function openMinute(page: Page, { fleetMs }: Made, hourMs: number): Promise<number> {
  const slider = page.getByRole('slider', { name: 'Time' })
  await goTo(page, `replay/${toIso(fleetMs).slice(0, 10)}`)
  await slider.waitFor(WAIT)
  return secondsOf(async () => {
    const path = `/replay?from=${encodeURIComponent(toIso(hourMs))}`
    const answered = page.waitForResponse((response) => response.url().includes(path), WAIT)
    await slider.fill(String(hourMs + 1_200_000))
    await (await answered).finished()
    await page.locator('.replay-wait:empty').waitFor({ state: 'attached', ...WAIT })
  })
}
