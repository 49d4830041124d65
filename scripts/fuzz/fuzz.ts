// npm run fuzz [-- --cases N]: throws broken MQTT at a gateway of its own and looks whether anybody else notices.
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import { readResidentBytes } from '#scripts/rig/process-usage.ts'
import { runOnWorkbench, type Workbench } from '#scripts/rig/processes.ts'
import { Campaign, type CampaignOptions, type Subject } from './campaign.ts'
import { kindNames } from './generate.ts'
import { describeCampaign, describeFailure } from './report.ts'

const HELP = `npm run fuzz -- [options]

  --cases n        how many                                        (100000)
  --seconds n      begin no more after n seconds                   (600)
  --seed n         the same seed gives the same cases              (one at random)
  --from n         begin with case n                               (0)
  --case n         only case n
  --only kind      only one kind: ${kindNames.join(', ')}
  --lanes n        cases at the same time                          (48)
  --gateway file   the program                                     (gateway/main.ts)
`

const DEVICES = 256
const GROWTH_MAX_MB = 100
/** Until then code is compiled and caches fill: nothing to compare with. */
const WARM_UP_CASES = 5_000

interface Options extends CampaignOptions {
  entry: string
}

function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      cases: { type: 'string', default: '100000' },
      seconds: { type: 'string', default: '600' },
      seed: { type: 'string', default: String(randomInt(2 ** 31)) },
      from: { type: 'string', default: '0' },
      case: { type: 'string' },
      only: { type: 'string' },
      lanes: { type: 'string', default: '48' },
      gateway: { type: 'string', default: 'gateway/main.ts' },
    },
  })
  if (values.only !== undefined && !kindNames.includes(values.only)) throw new Error(`no kind ${values.only}`)
  return {
    seed: wholeNumber('seed', values.seed),
    from: wholeNumber('from', values.case ?? values.from),
    cases: values.case === undefined ? wholeNumber('cases', values.cases) : 1,
    seconds: wholeNumber('seconds', values.seconds),
    lanes: wholeNumber('lanes', values.lanes),
    devices: DEVICES,
    only: values.only,
    entry: values.gateway,
  }
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new Error(`--${name} must be a whole number, not "${text}"`)
  return Number(text)
}

/** The gateway as the campaign sees it; every line it logs is looked at. */
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
      if (gateway.hasExited) return `the gateway has ended: ${gateway.errorTail}`
      if (gateway.errorTail.includes('Error')) return `stderr: ${gateway.errorTail}`
      return logged === null ? null : `logged: ${logged}`
    },
  }
}

async function main(bench: Workbench, args: string[]): Promise<number> {
  if (args.includes('--help')) {
    process.stdout.write(HELP)
    return 0
  }
  const { entry, ...options } = readOptions(args)
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

runOnWorkbench((bench) => main(bench, process.argv.slice(2)))
