import { ForkedScript } from '#scripts/rig/calls.ts'
import { ADMIN_KEY } from '#scripts/rig/gateway-process.ts'
import { below, formatCount, formatMs, noneOf, printTable, type ScenarioReport } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { type HistoryEnvironment, startOnHistory } from '../history/history-environment.ts'
import type { HttpFunctions, HttpResult, HttpRun } from './http-client.ts'

const TARGET_MS = 5
const WARMUP_S = 1
const SHORT_S = 0.2
const FINISH_LIMIT_MS = 30_000

/** Measures the cost of counting when there is much to count. */
export async function runCounts(context: ScenarioContext): Promise<ScenarioReport> {
  const environment = await startOnHistory(context)
  const { gateway, history } = environment
  const durationS = context.durationS ?? (context.isShort ? SHORT_S : 10)
  const limitMs = durationS * 1000 + FINISH_LIMIT_MS
  const script = new URL('./http-client.ts', import.meta.url)
  const client = new ForkedScript<HttpFunctions>(context.bench, 'HTTP client', script, limitMs)
  const results: { path: string; result: HttpResult }[] = []
  for (const path of ['/stats', `/devices/${history.hardwareId}/telemetry/stats`]) {
    results.push({ path, result: await client.call('run', runOf(environment, path, durationS)) })
  }
  await Promise.all([client.stop(), gateway.process.stop()])
  const total = formatCount(4 * history.records)
  printTable(
    `Counts: ${total} records`,
    ['', 'requests', 'p50 ms', 'p99 ms', 'max ms'],
    results.map(({ path, result: { requests, latency } }) => [
      path,
      formatCount(requests),
      ...[latency.p50Ms, latency.p99Ms, latency.maxMs].map((ms) => ms.toFixed(2)),
    ]),
  )
  return {
    figures: results.flatMap(({ path, result: { latency, failures } }) => [
      below(`counts: GET ${path} with ${total} records, p99`, latency.p99Ms, TARGET_MS, {
        unit: ' ms',
        digits: 1,
        detail: `p50 ${formatMs(latency.p50Ms)} ms`,
        isJudged: !context.isShort,
      }),
      noneOf(`counts: GET ${path}, not answered 200`, failures),
    ]),
    raw: { durationS, history, results },
  }
}

function runOf({ context, gateway }: HistoryEnvironment, path: string, durationS: number): HttpRun {
  const warmupS = context.isShort ? SHORT_S : WARMUP_S
  return { port: gateway.ports.http, path, key: ADMIN_KEY, connections: 1, warmupS, durationS }
}
