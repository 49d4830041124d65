import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { toLatLong } from '#scripts/commands/simulate/course/plane.ts'
import { ADMIN_KEY } from '#scripts/rig/gateway-process.ts'
import { atLeast, type ScenarioReport } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { must } from '#scripts/rig/staff-course.ts'
import { CENTER } from './course.ts'
import { DashboardEnvironment } from './environment.ts'
import { drag, framesPerS, slowDown } from './probes.ts'

const RATE = 4
const FRAMES_PER_S = 30
const DURATION_S = 15
const SHORT_S = 3
const ZONES = { count: 100, perRow: 10, corners: 200, apartM: 90, radiusM: 40 }
/** Approximate distance of the chosen zone's edge from the middle of the map. */
const EDGE_PX = { from: 70, to: 240, step: 8 }
const MOVE_MS = 16
const REACH_PX = 30

/** Measures how smoothly a corner and the map are dragged in the zone editor, on a tablet four times as slow. */
export async function runZones(context: ScenarioContext): Promise<ScenarioReport> {
  const { isShort } = context
  const durationS = context.durationS ?? (isShort ? SHORT_S : DURATION_S)
  const environment = await DashboardEnvironment.lay(context)
  const features = Array.from({ length: ZONES.count }, (_, i) => zone(i))
  await must(environment.gateway, 'PUT', '/zones', { type: 'FeatureCollection', features }, { 'If-Match': '*' })
  const { page, cdp, context: browser } = await environment.openPage({}, ADMIN_KEY)
  await page.goto(`${environment.link.url}/app/#/more/zones`)
  await page.getByRole('heading', { name: `${ZONES.count} zones` }).waitFor()
  await slowDown(cdp, RATE)
  const panned = await framesPerS(page, () => drag(page, durationS))
  await page.getByRole('button', { name: 'Zone 45', exact: false }).first().click()
  // time for the map to pan to the zone
  await sleep(2_000)
  const edge = await findCorner(page)
  const corner = await framesPerS(page, () => dragCorner(page, edge, durationS))
  await browser.close()
  await environment.clear()
  const judged = { isJudged: !isShort }
  const slow = `dashboard: ${RATE} times as slow, ${ZONES.count} zones of ${ZONES.corners} corners:`
  return {
    figures: [
      atLeast(`${slow} frames a second while a corner is dragged`, corner, FRAMES_PER_S, judged),
      atLeast(`${slow} frames a second while the map is dragged`, panned, FRAMES_PER_S, judged),
    ],
    raw: { corner, panned },
  }
}

/** Ring that is not a circle: every other corner is further in. */
function zone(index: number): object {
  const middle = {
    xM: ((index % ZONES.perRow) - ZONES.perRow / 2) * ZONES.apartM,
    yM: (Math.floor(index / ZONES.perRow) - ZONES.count / ZONES.perRow / 2) * ZONES.apartM,
  }
  const ring = Array.from({ length: ZONES.corners }, (_, i) => {
    const angle = (i / ZONES.corners) * 2 * Math.PI
    const radiusM = i % 2 === 0 ? ZONES.radiusM : ZONES.radiusM * 0.96
    const { lat, long } = toLatLong(CENTER, {
      xM: middle.xM + radiusM * Math.cos(angle),
      yM: middle.yM + radiusM * Math.sin(angle),
    })
    return [long, lat]
  })
  return {
    type: 'Feature',
    id: `zone-${index}`,
    geometry: { type: 'Polygon', coordinates: [[...ring, ...ring.slice(0, 1)]] },
    properties: { name: `Zone ${index}`, type: index === 0 ? 'parking' : 'stop' },
  }
}

/** Finds a position on the map where a corner can be dragged: if only the map moves, there is nothing to undo. */
async function findCorner(page: Page): Promise<[x: number, y: number]> {
  const box = await page.getByRole('application').boundingBox()
  if (box === null) throw new Error('there is no map')
  const y = box.y + box.height / 2
  for (let px = EDGE_PX.from; px <= EDGE_PX.to; px += EDGE_PX.step) {
    const x = box.x + box.width / 2 + px
    await page.mouse.move(x, y)
    await page.mouse.down()
    await page.mouse.move(x + 6, y, { steps: 2 })
    await page.mouse.move(x, y, { steps: 2 })
    await page.mouse.up()
    await sleep(300)
    if (await page.getByRole('button', { name: 'Undo' }).isEnabled()) return [x, y]
  }
  throw new Error('no corner of the zone was found on the map')
}

/** Drags a corner in circles. */
async function dragCorner(page: Page, [x, y]: [x: number, y: number], seconds: number): Promise<void> {
  const endsMs = performance.now() + seconds * 1000
  await page.mouse.move(x, y)
  await page.mouse.down()
  for (let turn = 0; performance.now() < endsMs; turn += 0.06) {
    const movedMs = performance.now()
    await page.mouse.move(x + REACH_PX * Math.sin(turn), y + REACH_PX * (1 - Math.cos(turn)))
    await sleep(Math.max(0, MOVE_MS - (performance.now() - movedMs)))
  }
  await page.mouse.up()
}
