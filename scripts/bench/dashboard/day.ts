import type { Page } from 'playwright-core'
import { buildApp } from '#dashboard/testing/app-build.ts'
import { launchChromium, openContext } from '#dashboard/testing/chromium.ts'
import { ADMIN_KEY, type GatewayProcess } from '#scripts/rig/gateway-process.ts'
import { peakDuring } from '#scripts/rig/quiet-memory.ts'
import { atMost, median, printProgress, type ScenarioReport, withoutTarget } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { must } from '#scripts/rig/staff-course.ts'
import { DAY_MS, HOUR_MS, toIso } from '#shared/time.ts'
import { FilledFolder, type FilledSample } from '../history/fill.ts'
import { recordFleet, recordSingle, samplesOfTracks } from '../history/history-parts.ts'
import { drawCourse } from './course.ts'

const TARGET_S = 2
const CARTS = { full: 200, short: 20 }
const ROUNDS = 5
const VOLTAGE_EVERY = 60
const LIMIT_MS = 60_000

/** Location of the histories, in the terms of the gateway and the page. */
interface Made {
  date: string
  /** Start of the fleet's day, which has twelve hours. */
  fleetMs: number
  cart: string
  positions: number
}

/** Measures the time to show a cart's day at one fix a second, and any minute of a day of the whole course. */
export async function runDay(context: ScenarioContext): Promise<ScenarioReport> {
  const rounds = context.rounds ?? (context.isShort ? 1 : ROUNDS)
  const carts = context.isShort ? CARTS.short : CARTS.full
  await buildApp()
  const folder = await FilledFolder.create(context, 'day')
  const made = await fill(folder, carts)
  const gateway = await folder.start()
  await drawCourse(gateway, carts)
  const day = await timesOf(rounds, () => read(gateway, `/carts/${made.cart}/track?date=${made.date}`))
  const hours = await peakDuring(gateway.process.pid, () =>
    timesOf(rounds, (round) => read(gateway, replayPath(made.fleetMs + (1 + 2 * round) * HOUR_MS, 1))),
  )
  const shown = await inBrowser(gateway, made, rounds)
  await gateway.process.stop()
  const seconds = { unit: ' s', digits: 2, isJudged: !context.isShort }
  const shownAs = (what: string) => `dashboard: ${what}, until it is shown`
  return {
    figures: [
      atMost(shownAs("a cart's day of 86,400 positions"), median(shown.dayS), TARGET_S, seconds),
      atMost(shownAs(`any minute of a day of ${carts} carts`), median(shown.minuteS), TARGET_S, seconds),
      withoutTarget(shownAs("a cart's day, the longest"), `${Math.max(...shown.dayS).toFixed(2)} s`),
      withoutTarget(shownAs('a minute of the course, the longest'), `${Math.max(...shown.minuteS).toFixed(2)} s`),
      withoutTarget('day: GET /carts/:cart/track', describe(day)),
      withoutTarget(`day: GET /replay of one hour, ${carts} carts`, describe(hours.result)),
      withoutTarget('day: gateway, most memory meanwhile', `${(hours.peakBytes / 1e6).toFixed(0)} MB`),
    ],
    raw: { made, day, hours, shown },
  }
}

/** Fills twelve hours of carts that report every five seconds, and a day of one that reports every second. */
async function fill(folder: FilledFolder, carts: number): Promise<Made> {
  await folder.register(carts, 'cart')
  const [single] = await folder.register(1, 'single')
  printProgress('  making the histories')
  const [fleetTracks, singleTrack] = [recordFleet(1), recordSingle(2)]
  const fleet = await folder.fill(samplesOfTracks(folder.deviceIds('cart'), fleetTracks))
  const one = samplesOfTracks(folder.deviceIds('single'), [singleTrack])
  const positions = fleet + (await folder.fill(withVoltages(one)))
  const startMs = singleTrack.atMs[0] ?? 0
  const date = toIso(startMs + DAY_MS).slice(0, 10)
  const fleetMs = Math.ceil((fleetTracks[0]?.atMs[0] ?? 0) / HOUR_MS) * HOUR_MS
  return { date, fleetMs, cart: single?.hardwareId ?? '', positions }
}

function* withVoltages(samples: Iterable<FilledSample>): Generator<FilledSample> {
  let count = 0
  for (const sample of samples)
    yield count++ % VOLTAGE_EVERY === 0 ? { ...sample, voltageMv: 51_000 - (count % 2_000) } : sample
}

interface Read {
  ms: number
  bytes: number
}

async function read({ ports }: GatewayProcess, path: string): Promise<Read> {
  const startedMs = performance.now()
  const headers = { 'X-API-Key': ADMIN_KEY }
  const response = await fetch(`http://127.0.0.1:${ports.http}${path}`, { headers })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
  return { ms: performance.now() - startedMs, bytes: text.length }
}

function replayPath(fromMs: number, hours: number): string {
  return `/replay?from=${toIso(fromMs)}&to=${toIso(fromMs + hours * HOUR_MS - 1)}`
}

async function timesOf(rounds: number, work: (round: number) => Promise<Read>): Promise<Read[]> {
  const reads: Read[] = []
  for (let round = 0; round < rounds; round++) reads.push(await work(round % ROUNDS))
  return reads
}

function describe(reads: readonly Read[]): string {
  const ms = median(reads.map((one) => one.ms))
  const bytes = median(reads.map((one) => one.bytes))
  return `${ms.toFixed(0)} ms, ${(bytes / 1e6).toFixed(2)} MB of text`
}

async function inBrowser(gateway: GatewayProcess, made: Made, rounds: number) {
  const user = { name: 'Shop', role: 'staff', allowed_hardware_ids: ['*'] }
  const { api_key } = await must(gateway, 'POST', '/users', user)
  const url = `http://127.0.0.1:${gateway.ports.http}`
  const browser = await launchChromium()
  const context = await openContext(browser, {})
  await context.request.post(`${url}/sessions`, { data: { api_key }, headers: { origin: url } })
  const page = await context.newPage()
  await page.goto(`${url}/app/`)
  await page.locator('canvas').first().waitFor()
  const shown = { dayS: [] as number[], minuteS: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    shown.dayS.push(await seconds(() => openDay(page, made)))
    await page.getByRole('link', { name: 'Map' }).click()
    await page.getByRole('searchbox').waitFor()
    shown.minuteS.push(...(await openMinutes(page, made, round)))
    await page.getByRole('link', { name: 'Map' }).click()
    await page.getByRole('searchbox').waitFor()
    printProgress(`  day ${shown.dayS.at(-1)?.toFixed(2)} s, minute ${shown.minuteS.at(-1)?.toFixed(2)} s`)
  }
  await browser.close()
  return shown
}

async function seconds(act: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now()
  await act()
  return (performance.now() - startedMs) / 1000
}

function goTo(page: Page, path: string): Promise<unknown> {
  return page.evaluate(`location.hash = ${JSON.stringify(`#/more/${encodeURIComponent(path)}`)}`)
}

async function openDay(page: Page, { cart, date }: Made): Promise<void> {
  await goTo(page, `day/${cart}/${date}`)
  await page.locator('.day-chart canvas').nth(1).waitFor({ timeout: LIMIT_MS })
  await page.getByText(/· \d+\.\d V$/).waitFor({ timeout: LIMIT_MS })
}

/** Opens the replay, then an hour that has not been loaded yet. */
async function openMinutes(page: Page, { fleetMs }: Made, round: number): Promise<number[]> {
  const slider = page.getByRole('slider', { name: 'Time of day' })
  const isShown = (hourMs: number) =>
    page.waitForResponse((one) => one.url().includes(`/replay?from=${encodeURIComponent(toIso(hourMs))}`), {
      timeout: LIMIT_MS,
    })
  await goTo(page, `replay/${toIso(fleetMs).slice(0, 10)}`)
  await slider.waitFor({ timeout: LIMIT_MS })
  const hourMs = fleetMs + ((2 * round + 1) % 10) * HOUR_MS
  return [
    await seconds(async () => {
      const answered = isShown(hourMs)
      await slider.fill(String(hourMs + 1_200_000))
      await (await answered).finished()
      await page.locator('.replay-wait:empty').waitFor({ state: 'attached', timeout: LIMIT_MS })
    }),
  ]
}
