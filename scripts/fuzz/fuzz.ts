// npm run fuzz [-- --cases N]: sends broken MQTT to a new gateway and checks that other clients do not notice.
import { randomInt } from 'node:crypto'
import { Option } from '@commander-js/extra-typings'
import { createCommandLine, parseCommandLine, wholeNumber } from '#scripts/cli/command-line.ts'
import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import { readResidentBytes } from '#scripts/rig/process-usage.ts'
import { runOnWorkbench, type Workbench } from '#scripts/rig/processes.ts'
import { gatewayOption } from '#scripts/rig/run-scenarios.ts'
import { Campaign, type CampaignOptions, type Subject } from './campaign.ts'
import { kindNames } from './generate.ts'
import { describeCampaign, describeFailure } from './report.ts'

const DEVICES = 256
const GROWTH_MAX_MB = 100
/** Cases before the baseline of the comparisons: until then code is compiled and caches fill. */
const WARM_UP_CASES = 5_000

interface Options extends CampaignOptions {
  entry: string
}

function readOptions(argv: readonly string[]): Options {
  const command = createCommandLine('fuzz', process)
    .option('--cases <n>', 'number of cases', wholeNumber(0), 100_000)
    .option('--seconds <n>', 'time after which no case is begun', wholeNumber(0), 600)
    .addOption(
      new Option('--seed <n>', 'the same seed gives the same cases')
        .argParser(wholeNumber(0))
        .default(randomInt(2 ** 31), 'a random one'),
    )
    .option('--from <n>', 'begin with case n', wholeNumber(0), 0)
    .option('--case <n>', 'only case n', wholeNumber(0))
    .addOption(new Option('--only <kind>', 'only this kind').choices(kindNames))
    .option('--lanes <n>', 'number of concurrent cases', wholeNumber(0), 48)
    .addOption(gatewayOption())
  const { gateway, case: single, cases, from, ...given } = parseCommandLine(command, argv).opts()
  return {
    ...given,
    only: given.only,
    from: single ?? from,
    cases: single === undefined ? cases : 1,
    devices: DEVICES,
    entry: gateway,
  }
}

/** Gateway as the campaign uses it; checks every line of its log. */
function subjectOf({ process: gateway, api, ports, realtimeUrl }: GatewayProcess): Subject {
  let logged: string | null = null
  gateway.watchLines((line) => {
    if (/"level":"(error|fatal)"/.test(line) || !line.startsWith('{')) logged ??= line
  })
  return {
    api,
    realtimeUrl,
    mqttPort: ports.mqtt,
    httpPort: ports.http,
    mqttUrl: `mqtt://127.0.0.1:${ports.mqtt}`,
    fault() {
      if (gateway.hasExited) return `the gateway exited: ${gateway.errorTail}`
      if (gateway.errorTail.includes('Error')) return `stderr: ${gateway.errorTail}`
      return logged === null ? null : `logged: ${logged}`
    },
  }
}

async function fuzz(bench: Workbench, argv: readonly string[]): Promise<number> {
  const { entry, ...options } = readOptions(argv)
  say(`seed ${options.seed}`)
  const gateway = await startGateway(bench, { entry, dataDir: bench.createFolder('fuzz') })
  const { pid } = gateway.process
  let [earlyBytes, lastShownAtMs] = [0, performance.now()]
  const campaign = new Campaign(subjectOf(gateway), {
    ...options,
    onBatch(done) {
      const isWarm = done >= Math.max(WARM_UP_CASES, options.cases / 10)
      if (earlyBytes === 0 && isWarm && !gateway.process.hasExited) earlyBytes = readResidentBytes(pid)
      if (performance.now() - lastShownAtMs < 10_000) return
      lastShownAtMs = performance.now()
      say(`${done} cases`)
    },
  })
  const report = await campaign.run()
  for (const line of describeCampaign(report)) say(line)
  const failures = [...report.failures]
  if (!gateway.process.hasExited) {
    const lateMb = readResidentBytes(pid) / 1e6
    const growthMb = earlyBytes === 0 ? 0 : lateMb - earlyBytes / 1e6
    say(`resident memory: ${lateMb.toFixed(0)} MB, ${growthMb.toFixed(0)} MB more than after a tenth`)
    if (growthMb > GROWTH_MAX_MB) failures.push({ problem: `grown by ${growthMb.toFixed(0)} MB`, cases: [] })
    await gateway.process.stop()
  }
  for (const failure of failures) for (const line of describeFailure(options.seed, failure)) say(line)
  say(failures.length === 0 ? 'passed' : 'FAILED')
  return failures.length === 0 ? 0 : 1
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

await runOnWorkbench('fuzz', fuzz)
