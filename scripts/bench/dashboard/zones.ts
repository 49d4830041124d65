import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { toLatLong } from '#scripts/commands/simulate/course/plane.ts'
import { SIMULATED_CENTER, zoneOf } from '#scripts/rig/course.ts'
import type { Figure } from '#scripts/rig/figures.ts'
import { ADMIN_KEY } from '#scripts/rig/gateway-process.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import type { NewFeature } from '#shared/wire/geofences.ts'
import { openDashboard } from './environment.ts'
import { drag, framesPerS, slowDown } from './probes.ts'

const ZONES = 100
const CORNERS = 200
/** Approximate distance of the chosen zone's edge from the middle of the map. */
const EDGE_PX = { from: 70, to: 240, step: 8 }
const smooth = (what: string): Figure => ({ what: `frames a second while ${what} is dragged`, target: ['>=', 30] })

/** Measures how smoothly a corner and the map are dragged in the zone editor, on a tablet four times as slow. */
export const zones = measurement({
  name: 'zones',
  summary: `the editor with ${ZONES} zones of ${CORNERS} corners, four times as slow`,
  durationS: [15, 3],
  figures: { corner: smooth('a corner'), map: smooth('the map') },
  async run(context) {
    const { durationS } = context
    const dashboard = await openDashboard(context)
    await dashboard.gateway.api.drawZones(Array.from({ length: ZONES }, (_, i) => zone(i)))
    const { page, cdp } = await dashboard.openPage(ADMIN_KEY)
    await page.goto(`${dashboard.appUrl}#/more/zones`)
    await page.getByRole('heading', { name: `${ZONES} zones` }).waitFor()
    await slowDown(cdp)
    const map = await framesPerS(page, () => drag(page, durationS))
    await page.getByRole('button', { name: 'Zone 45', exact: false }).first().click()
    // time for the map to pan to the zone
    await sleep(2_000)
    const cornerDrag = { from: await findCorner(page), reachPx: { x: 30, y: 30 } }
    const corner = await framesPerS(page, () => drag(page, durationS, cornerDrag))
    await dashboard.clear()
    return { corner, map }
  },
})

/** Ring that is not a circle: every other corner is further in. */
function zone(index: number): NewFeature {
  const middle = { xM: ((index % 10) - 5) * 90, yM: (Math.floor(index / 10) - 5) * 90 }
  const ring = Array.from({ length: CORNERS }, (_, i): [number, number] => {
    const angle = (i / CORNERS) * 2 * Math.PI
    const radiusM = i % 2 === 0 ? 40 : 38.4
    const corner = { xM: middle.xM + radiusM * Math.cos(angle), yM: middle.yM + radiusM * Math.sin(angle) }
    const { lat, long } = toLatLong(SIMULATED_CENTER, corner)
    return [long, lat]
  })
  return zoneOf(`zone-${index}`, { name: `Zone ${index}`, type: index === 0 ? 'parking' : 'stop' }, ring)
}

/** Finds a position on the map where a corner can be dragged: if only the map moves, there is nothing to undo. */
async function findCorner(page: Page): Promise<{ x: number; y: number }> {
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
    if (await page.getByRole('button', { name: 'Undo' }).isEnabled()) return { x, y }
  }
  throw new Error('no corner of the zone was found on the map')
}
