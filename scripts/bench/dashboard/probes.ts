import { setTimeout as sleep } from 'node:timers/promises'
import type { CDPSession, Page } from 'playwright-core'
import { z } from 'zod'

const MS = 1000
/** Interval of a finger that moves as often as a screen shows it. */
const MOVE_MS = 16
const DRAG_M = { x: 160, y: 110 }

/** Milliseconds of the page's main thread per second of some work: scripts, layout and painting, without waiting. */
export async function mainThreadMs(cdp: CDPSession, work: () => Promise<void>): Promise<number> {
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
  const before = await readMetric(cdp, 'TaskDuration')
  const startedMs = performance.now()
  await work()
  const tookS = (performance.now() - startedMs) / MS
  const spentS = (await readMetric(cdp, 'TaskDuration')) - before
  await cdp.send('Performance.disable')
  return (spentS * MS) / tookS
}

async function readMetric(cdp: CDPSession, name: string): Promise<number> {
  const { metrics } = await cdp.send('Performance.getMetrics')
  return metrics.find((metric) => metric.name === name)?.value ?? Number.NaN
}

/** Bytes of JavaScript in use after a garbage collection. */
export async function heapBytes(cdp: CDPSession): Promise<number> {
  await cdp.send('HeapProfiler.enable')
  await cdp.send('HeapProfiler.collectGarbage')
  await cdp.send('HeapProfiler.disable')
  const { usedSize } = await cdp.send('Runtime.getHeapUsage')
  return usedSize
}

/** Bytes that V8 has compiled: byte code, machine code and type feedback. V8 reports them in snapshots only. */
export async function compiledBytes(cdp: CDPSession): Promise<number> {
  let text = ''
  const take = ({ chunk }: { chunk: string }) => {
    text += chunk
  }
  cdp.on('HeapProfiler.addHeapSnapshotChunk', take)
  await cdp.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false })
  cdp.off('HeapProfiler.addHeapSnapshotChunk', take)
  const { snapshot, nodes } = heapSnapshotSchema.parse(JSON.parse(text))
  const { node_fields: fields, node_types: types } = snapshot.meta
  const [type, size] = [fields.indexOf('type'), fields.indexOf('self_size')]
  const code = types[0].indexOf('code')
  let bytes = 0
  for (let at = 0; at < nodes.length; at += fields.length) if (nodes[at + type] === code) bytes += nodes[at + size] ?? 0
  return bytes
}

const heapSnapshotSchema = z.object({
  snapshot: z.object({
    meta: z.object({
      node_fields: z.array(z.string()),
      node_types: z.tuple([z.array(z.string())], z.unknown()),
    }),
  }),
  nodes: z.array(z.number()),
})

/** Drags the middle of the page in circles for that many seconds. */
export async function drag(page: Page, seconds: number): Promise<void> {
  const { width, height } = page.viewportSize() ?? { width: 1024, height: 768 }
  const at = (turn: number) => ({
    x: width / 2 + DRAG_M.x * Math.sin(turn),
    y: height / 2 + DRAG_M.y * Math.cos(turn),
  })
  const endsMs = performance.now() + seconds * MS
  const start = at(0)
  await page.mouse.move(start.x, start.y)
  await page.mouse.down()
  for (let turn = 0; performance.now() < endsMs; turn += 0.06) {
    const { x, y } = at(turn)
    const movedMs = performance.now()
    await page.mouse.move(x, y)
    await sleep(Math.max(0, MOVE_MS - (performance.now() - movedMs)))
  }
  await page.mouse.up()
}

const COUNT_FRAMES = `{
  globalThis.framesSeen = 0
  const count = () => { globalThis.framesSeen += 1; requestAnimationFrame(count) }
  if (!globalThis.countsFrames) requestAnimationFrame(count)
  globalThis.countsFrames = true
}`

/** Frames that the page makes in each second of some work. */
export async function framesPerS(page: Page, work: () => Promise<void>): Promise<number> {
  await page.evaluate(COUNT_FRAMES)
  const startedMs = performance.now()
  await work()
  const frames = z.number().parse(await page.evaluate('globalThis.framesSeen'))
  return frames / ((performance.now() - startedMs) / MS)
}

/** Throttles the page to a processor that is slower by this factor. */
export async function slowDown(cdp: CDPSession, rate: number): Promise<void> {
  await cdp.send('Emulation.setCPUThrottlingRate', { rate })
}

/** Script that records when a bitmap is first drawn on the carts' canvas; must be added to a page before it opens. */
export const NOTE_FIRST_CART = `{
  const draw = CanvasRenderingContext2D.prototype.drawImage
  CanvasRenderingContext2D.prototype.drawImage = function (...args) {
    draw.apply(this, args)
    if (!this.canvas.classList.contains('cart-sheet')) return
    globalThis.firstCartMs = performance.now()
    CanvasRenderingContext2D.prototype.drawImage = draw
  }
}`

const READ_TIMES = `({
  paintMs: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null,
  cartsMs: globalThis.firstCartMs ?? null,
})`
const timesSchema = z.object({ paintMs: z.number().nullable(), cartsMs: z.number().nullable() })

/** Milliseconds since the page began to load; null for what has not happened yet. */
export async function readTimes(page: Page): Promise<z.infer<typeof timesSchema>> {
  return timesSchema.parse(await page.evaluate(READ_TIMES))
}
