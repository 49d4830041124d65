// One run of a plan, in a process of its own: node scripts/live/one-run.ts FOLDER, with the plan as standard input.
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Bottle } from './bottle.ts'
import { alertChecks } from './checks/alerts.ts'
import { deviceChecks } from './checks/devices.ts'
import { gatewayChecks } from './checks/gateway.ts'
import { lockChecks } from './checks/locks.ts'
import { drawPlan } from './plan.ts'
import type { Report } from './run-plan.ts'

const SHOWN_DEEDS = 20
// before the clocks are replaced
const now = performance.now.bind(performance)

const given = JSON.parse(await text(process.stdin))
const { traceFile, untilMs, edits, only, ...plan } = given
const checks = [...deviceChecks, ...lockChecks, ...alertChecks, ...gatewayChecks].filter(
  ({ number }) => only === undefined || number === only,
)
const folder = mkdtempSync(join(process.argv[2] ?? '.', 'cartbarn-live-'))
const startedMs = now()
try {
  const bottle = new Bottle({
    plan: plan.entries === undefined ? drawPlan(plan) : plan,
    dataDir: folder,
    checks,
    edits,
    traceFile,
    untilMs,
  })
  await bottle.run()
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
    checks: checks.length,
    times: Math.round((nowMs - startMs) / (now() - startedMs)),
    trace: bottle.traceSum(),
    memoryMb: Math.round(process.memoryUsage().rss / 1e6),
  }
  process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit())
} finally {
  rmSync(folder, { recursive: true, force: true })
}
