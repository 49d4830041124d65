import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { printProgress } from '#scripts/rig/report.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { mustReach } from '#scripts/rig/wait-until.ts'
import { openDashboard } from './environment.ts'
import { drag, framesPerS, slowDown } from './probes.ts'

const LIMIT_MS = 60_000
/** Records when a bitmap is first drawn on the carts' canvas. */
const NOTE_FIRST_CART = `{
  const draw = CanvasRenderingContext2D.prototype.drawImage
  CanvasRenderingContext2D.prototype.drawImage = function (...args) {
    draw.apply(this, args)
    if (!this.canvas.classList.contains('cart-sheet')) return
    globalThis.firstCartMs = performance.now()
    CanvasRenderingContext2D.prototype.drawImage = draw
  }
}`
/** Milliseconds since the page began to load, once a cart is shown. */
const READ_TIMES = `globalThis.firstCartMs && {
  paintMs: performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
  cartsMs: globalThis.firstCartMs,
}`
const timesSchema = z.object({ paintMs: z.number(), cartsMs: z.number() })

/** Measures a tablet that is four times as slow: time until something is visible, and smoothness of the map. */
export const slow = measurement({
  name: 'slow',
  summary: 'the same on a tablet four times as slow: first paint, frames',
  rounds: 5,
  durationS: [15, 3],
  figures: {
    dragFps: { what: 'frames a second while the map is dragged', target: ['>=', 30] },
    restFps: { what: 'frames a second at rest' },
    paintS: { what: 'first paint', unit: ' s', target: ['<=', 1.5], digits: 2 },
    cartsS: { what: 'carts on the map', unit: ' s', target: ['<=', 3], digits: 2 },
  },
  async run(context) {
    const { rounds, durationS } = context
    const dashboard = await openDashboard(context)
    const values = { dragFps: 0, restFps: 0, paintS: [] as number[], cartsS: [] as number[] }
    for (let round = 0; round < rounds; round++) {
      // a new browser: nothing is cached
      const { page, cdp } = await dashboard.openPage()
      await slowDown(cdp)
      await page.addInitScript(NOTE_FIRST_CART)
      await page.goto(dashboard.appUrl)
      const areShown = async () => (await page.evaluate(READ_TIMES)) !== undefined
      await mustReach(areShown, LIMIT_MS, 'no cart came onto the map', 100)
      const { paintMs, cartsMs } = timesSchema.parse(await page.evaluate(READ_TIMES))
      values.paintS.push(paintMs / 1000)
      values.cartsS.push(cartsMs / 1000)
      printProgress(`  painted after ${paintMs.toFixed(0)} ms, carts after ${cartsMs.toFixed(0)} ms`)
      if (round === rounds - 1) {
        values.restFps = await framesPerS(page, () => sleep(durationS * 1000))
        values.dragFps = await framesPerS(page, () => drag(page, durationS))
      }
      await page.context().close()
    }
    await dashboard.clear()
    return values
  },
})
