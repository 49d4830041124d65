import { ADMIN_KEY, startGateway } from '#scripts/rig/gateway-process.ts'
import { type Figure, formatCount, noneOf, printProgress, printTable, told } from '#scripts/rig/report.ts'
import { findDamage } from '../disk/integrity.ts'
import { cutAgain } from '../disk/power-cuts.ts'
import { createDataFolder } from '../disk/recorded-folder.ts'
import { MortalGateway } from '../mortal-gateway.ts'
import type { TortureContext, TortureScenario } from '../scenario.ts'
import { SessionTraffic, type TrafficCheck } from './traffic.ts'

const KILLS = 40
const SHORT_KILLS = 2
const CUTS = 20
const SHORT_CUTS = 1

interface Outcome {
  kills: number
  /** Null if power cuts cannot be simulated. */
  cuts: number | null
  damage: string[]
  check: TrafficCheck
}

/** Checks that the broker keeps its clients' sessions and messages. */
export const sessions: TortureScenario = {
  name: 'sessions',
  summary: 'persistent sessions, QoS 1 and 2, retained messages and wills, through kills and power cuts',
  run: async (context) => {
    const outcome = await torture(context)
    print(outcome)
    return { figures: createFigures(outcome), raw: outcome }
  },
}

async function torture(context: TortureContext): Promise<Outcome> {
  const { bench, entry, isShort, cycles } = context
  const kills = cycles ?? (isShort ? SHORT_KILLS : KILLS)
  const dataDir = createDataFolder(bench, 'sessions')
  const first = await startGateway(bench, { entry, dataDir })
  const username = await first.api.firstUserId()
  const traffic = new SessionTraffic({ port: first.ports.mqtt, username, password: ADMIN_KEY })
  await traffic.start()
  const gateway = new MortalGateway(context, first.ports, () => traffic.gatewayStarted())
  await first.process.stop('SIGKILL')

  for (let done = 1; done <= kills; done++) {
    await gateway.kill(dataDir)
    traffic.gatewayDied()
  }
  printProgress(`  killed ${kills} times`)
  const damage = findDamage(bench, dataDir)

  const most = cycles ?? (isShort ? SHORT_CUTS : CUTS)
  const { path, cuts } = await cutAgain(bench, dataDir, most, async (folder, unsynced) => {
    await gateway.cutPower(folder, unsynced)
    traffic.gatewayDied()
    damage.push(...findDamage(bench, folder.path))
  })
  if (cuts !== null) printProgress(`  cut the power ${cuts} times`)

  const last = await startGateway(bench, { entry, dataDir: path, ports: first.ports })
  const check = await traffic.finish()
  await last.process.stop()
  damage.push(...findDamage(bench, path))
  return { kills, cuts, damage, check }
}

function print({ kills, cuts, check: { deliveries, wills } }: Outcome): void {
  printTable(
    `Sessions: ${kills} kills and ${cuts ?? 'no'} power cuts`,
    ['to be delivered', 'missing', 'twice', 'repeated at QoS 1', 'out of order', 'wills'],
    [
      [
        deliveries.expected,
        deliveries.missing,
        deliveries.twice,
        deliveries.repeated,
        deliveries.outOfOrder,
        wills.owed,
      ].map(formatCount),
    ],
  )
  for (const example of deliveries.examples) printProgress(`  ${example}`)
}

function createFigures({ cuts, damage, check }: Outcome): Figure[] {
  const { deliveries, wills } = check
  const expected = formatCount(deliveries.expected)
  return [
    noneOf(`sessions: messages acknowledged but missing, of ${expected}`, deliveries.missing),
    noneOf('sessions: delivered twice at QoS 2', deliveries.twice),
    noneOf('sessions: delivered out of order', deliveries.outOfOrder),
    noneOf('sessions: never acknowledged', check.neverAcknowledged),
    noneOf('sessions: sessions lost', check.lostSessions),
    noneOf('sessions: delivered again although acknowledged', check.leftInQueues),
    noneOf(`sessions: retained messages wrong, ${check.retainedChecks} checks`, check.retainedFaults.length),
    noneOf(`sessions: wills missing, of ${wills.owed}`, wills.missing.length),
    noneOf('sessions: damage found by integrity_check', damage.length),
    ...(cuts === null ? [told('sessions: power cuts', 'skipped')] : []),
  ]
}
