// One run of a plan, in a process of its own: node scripts/live/one-run.ts FOLDER, with the plan as standard input.
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Bottle } from './bottle.ts'
import { drawPlan } from './draw-plan.ts'
import { createParts } from './parts/all.ts'
import type { Report } from './run-plan.ts'
import { preloadDisk } from './world/disk.ts'

const SHOWN_DEEDS = 20
const PROGRESS_MS = 1_000
preloadDisk()
// before the clocks are replaced
const now = performance.now.bind(performance)

const given = JSON.parse(await text(process.stdin))
const { traceFile, untilMs, edits, only, ...plan } = given
const folder = mkdtempSync(join(process.argv[2] ?? '.', 'cartbarn-live-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const startedMs = now()
const bottle = new Bottle({
  plan: plan.entries === undefined ? drawPlan(plan) : plan,
  dataDir: folder,
  createParts,
  only,
  edits,
  traceFile,
  untilMs,
})
process.once('SIGINT', () => finish(true))
let shownMs = 0
bottle.time.onSettled = () => {
  if (now() - shownMs < PROGRESS_MS) return
  shownMs = now()
  process.stdout.write(`${bottle.time.nowMs - bottle.time.startMs}\n`)
}
await bottle.run()
finish(false)

function finish(isPartial: boolean): void {
  const { startMs, nowMs } = bottle.time
  const [first] = bottle.wrong
  const concerns = bottle.done.filter((entry) => !('cart' in entry) || `cart-${entry.cart}` === first?.subject)
  const report: Report = {
    startMs,
    endMs: nowMs,
    wrong: bottle.wrong,
    deeds: first === undefined ? [] : concerns.slice(-SHOWN_DEEDS),
    starts: bottle.life.starts,
    looks: bottle.looks,
    checks: bottle.checks.length,
    times: Math.round((nowMs - startMs) / (now() - startedMs)),
    trace: bottle.traceSum(),
    memoryMb: Math.round(process.memoryUsage().rss / 1e6),
    isPartial,
  }
  process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit())
}
