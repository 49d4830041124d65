import { ForkedScript } from '#scripts/rig/calls.ts'
import { ADMIN_KEY, type GatewayProcess } from '#scripts/rig/gateway-process.ts'
import { readCpuSeconds } from '#scripts/rig/process-usage.ts'
import { formatCount, printProgress } from '#scripts/rig/report.ts'
import { alternate, byFigure } from '#scripts/rig/rounds.ts'
import type { RunContext } from '#scripts/rig/scenario.ts'
import type { BareAnswer, BareServerFunctions } from './bare-server.ts'
import type { HttpFunctions } from './http-client.ts'

const CONNECTIONS = 10
const WARMUP_S = 2

/** Compares a gateway with a bare server that has the same responses; `measure` requests one path from both. */
export async function startBeside(context: RunContext, gateway: GatewayProcess, answers: readonly BareAnswer[]) {
  const { bench, rounds, durationS } = context
  const bare = new ForkedScript<BareServerFunctions>(bench, new URL('./bare-server.ts', import.meta.url))
  const client = new ForkedScript<HttpFunctions>(bench, new URL('./http-client.ts', import.meta.url))
  const subjects = [
    { port: await bare.call('listen', answers), pid: bare.pid },
    { port: gateway.ports.http, pid: gateway.process.pid },
  ]
  const measure = async (path: string, acceptEncoding?: string) => {
    const load = { connections: CONNECTIONS, warmupS: Math.min(WARMUP_S, durationS), durationS }
    const plan = { path, key: ADMIN_KEY, ...load, ...(acceptEncoding === undefined ? {} : { acceptEncoding }) }
    const [ofBare = [], own = []] = await alternate(rounds, subjects, async ({ port, pid }) => {
      const beforeS = readCpuSeconds(pid)
      const result = await client.call('run', { port, ...plan })
      const cpu = ((readCpuSeconds(pid) - beforeS) / result.answered) * 1e6
      const rate = result.requests / result.durationS
      printProgress(`  ${formatCount(rate)}/s`)
      return { rate, cpu, p99: result.latency.p99Ms, failures: result.failures }
    })
    return {
      ...byFigure(own),
      ratio: own.map(({ rate }, i) => rate / (ofBare[i]?.rate ?? 0)),
      failures: [...ofBare, ...own].map(({ failures }) => failures),
    }
  }
  const stop = () => Promise.all([client.stop(), bare.stop(), gateway.process.stop()])
  return { measure, stop }
}
