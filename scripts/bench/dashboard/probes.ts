import { setTimeout as sleep } from 'node:timers/promises'
import type { CDPSession, Page } from 'playwright-core'
import { z } from 'zod'

const MS = 1000
/** Interval of a finger that moves as often as a screen shows it. */
const MOVE_MS = 16

/** Emulates a tablet that is four times as slow as this machine. */
export async function slowDown(cdp: CDPSession): Promise<void> {
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: 4 })
}

/** Seconds that some work takes. */
export async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now()
  await work()
  return (performance.now() - startedMs) / MS
}

/** Milliseconds of the page's main thread per second of some work: scripts, layout and painting, without waiting. */
export async function mainThreadMs(cdp: CDPSession, work: () => Promise<void>): Promise<number> {
  const readBusyS = async () => {
    const { metrics } = await cdp.send('Performance.getMetrics')
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN
  }
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
  const beforeS = await readBusyS()
  const tookS = await secondsOf(work)
  const spentS = (await readBusyS()) - beforeS
  await cdp.send('Performance.disable')
  return (spentS * MS) / tookS
}

/** Bytes of JavaScript in use after a garbage collection. */
export async function heapBytes(cdp: CDPSession): Promise<number> {
  await cdp.send('HeapProfiler.enable')
  await cdp.send('HeapProfiler.collectGarbage')
  await cdp.send('HeapProfiler.disable')
  return (await cdp.send('Runtime.getHeapUsage')).usedSize
}

/** Bytes that V8 has compiled: byte code, machine code and type feedback. V8 reports them in snapshots only. */
export async function compiledBytes(cdp: CDPSession): Promise<number> {
  const chunks: string[] = []
  const take = ({ chunk }: { chunk: string }) => chunks.push(chunk)
  cdp.on('HeapProfiler.addHeapSnapshotChunk', take)
  await cdp.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false })
  cdp.off('HeapProfiler.addHeapSnapshotChunk', take)
  const { snapshot, nodes } = heapSnapshotSchema.parse(JSON.parse(chunks.join('')))
  const { node_fields: fields, node_types: types } = snapshot.meta
  const [type, size] = [fields.indexOf('type'), fields.indexOf('self_size')]
  const code = types[0].indexOf('code')
  let bytes = 0
  for (let at = 0; at < nodes.length; at += fields.length) if (nodes[at + type] === code) bytes += nodes[at + size] ?? 0
  return bytes
}

const metaSchema = z.object({
  node_fields: z.array(z.string()),
  node_types: z.tuple([z.array(z.string())], z.unknown()),
})
const heapSnapshotSchema = z.object({ snapshot: z.object({ meta: metaSchema }), nodes: z.array(z.number()) })

/** Circles around the middle of the page of a tablet. */
const MAP_DRAG = { from: { x: 512, y: 494 }, reachPx: { x: 160, y: 110 } }

/** Drags in circles from a point of the page for that many seconds. */
export async function drag(page: Page, seconds: number, { from, reachPx } = MAP_DRAG): Promise<void> {
  const endsMs = performance.now() + seconds * MS
  await page.mouse.move(from.x, from.y)
  await page.mouse.down()
  for (let turn = 0; performance.now() < endsMs; turn += 0.06) {
    const movedMs = performance.now()
    await page.mouse.move(from.x + reachPx.x * Math.sin(turn), from.y + reachPx.y * (Math.cos(turn) - 1))
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
  const tookS = await secondsOf(work)
  return z.number().parse(await page.evaluate('globalThis.framesSeen')) / tookS
}
