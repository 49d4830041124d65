import { setTimeout as sleep } from 'node:timers/promises'
import { startGateway, untilListening } from '#scripts/rig/gateway-process.ts'
import type { LoadResult } from '#scripts/rig/load/plan.ts'
import {
  type Figure,
  formatCount,
  median,
  noneOf,
  printProgress,
  printTable,
  withoutTarget,
} from '#scripts/rig/report.ts'
import { type Life, startTimesMs } from './death.ts'
import { findDamage } from './disk/integrity.ts'
import { createDataFolder } from './disk/recorded-folder.ts'
import { fleetFigures } from './fleet-figures.ts'
import { type FleetCheck, FleetLoad, fleetSize } from './fleet-load.ts'
import { MortalGateway } from './mortal-gateway.ts'
import type { TortureContext, TortureScenario } from './scenario.ts'

const KILLS = 200
const SHORT_KILLS = 3
const INTEGRITY_EVERY = 20
const SHORT_INTEGRITY_EVERY = 2
const PROGRESS_EVERY = 10
const LAST_LIFE_MS = 300

interface Outcome {
  lives: Life[]
  damage: string[]
  integrityChecks: number
  load: LoadResult
  check: FleetCheck
  /** Carts whose state changed by one more kill, without a message in between. */
  wrongStates: number
}

/** Checks that a process may end at any moment. */
export const kill: TortureScenario = {
  name: 'kill',
  summary: 'kill -9 under load, while starting, right after and while stopping; nothing acknowledged may be lost',
  run: async (context) => {
    const outcome = await torture(context)
    print(outcome)
    return { figures: createFigures(outcome), raw: outcome }
  },
}

async function torture(context: TortureContext): Promise<Outcome> {
  const { bench, entry, isShort, cycles } = context
  const kills = cycles ?? (isShort ? SHORT_KILLS : KILLS)
  const integrityEvery = isShort ? SHORT_INTEGRITY_EVERY : INTEGRITY_EVERY
  const dataDir = createDataFolder(bench, 'kill')
  const first = await startGateway(bench, { entry, dataDir })
  const fleet = await FleetLoad.start(bench, first, fleetSize(isShort))
  const gateway = new MortalGateway(context, first.ports, () => fleet.connected())
  const { lives } = gateway
  await first.process.stop('SIGKILL')

  const damage: string[] = []
  let integrityChecks = 0
  for (let done = 1; done <= kills; done++) {
    await gateway.kill(dataDir)
    if (done % integrityEvery === 0 || done === kills) {
      integrityChecks++
      damage.push(...findDamage(bench, dataDir))
    }
    if (done % PROGRESS_EVERY === 0) printProgress(`  ${done} of ${kills} kills, ${describe(lives)}`)
  }
  const last = await untilListening(gateway.spawn({ dataDir }))
  await fleet.connected()
  await sleep(LAST_LIFE_MS)
  const { check, load } = await fleet.finish(last)
  // no message is sent any more that would correct a state
  await last.process.stop('SIGKILL')
  const again = await untilListening(gateway.spawn({ dataDir }))
  const wrongStates = await fleet.countWrongStates(again)
  await again.process.stop()
  return { lives, damage, integrityChecks, load, check, wrongStates }
}

/** Number of lives that ended in each moment. */
function describe(lives: readonly Life[]): string {
  const counts = new Map<string, number>()
  for (const { moment } of lives) counts.set(moment, (counts.get(moment) ?? 0) + 1)
  return [...counts].map(([moment, count]) => `${count} ${moment}`).join(', ')
}

function print({ lives, load, check: { history, lockEvents } }: Outcome): void {
  printTable(
    `Kill: ${lives.length} times kill -9 (${describe(lives)})`,
    ['acknowledged', 'stored', 'lock events', 'sent again', 'reconnects', 'missing', 'twice'],
    [
      [
        history.acknowledged,
        history.stored,
        lockEvents.acknowledged,
        load.resent,
        load.reconnects,
        history.missing + lockEvents.missing,
        history.duplicates + lockEvents.twice,
      ].map(formatCount),
    ],
  )
  for (const example of history.examples) printProgress(`  missing: ${example}`)
}

function createFigures(outcome: Outcome): Figure[] {
  const { lives, damage, integrityChecks, load, check, wrongStates } = outcome
  const startsMs = startTimesMs(lives)
  return [
    ...fleetFigures('kill', check),
    noneOf('kill: carts whose state differs from their newest record, after one more kill', wrongStates),
    noneOf('kill: never acknowledged', load.sent - load.acknowledged),
    noneOf(`kill: damage found by integrity_check, ${integrityChecks} times`, damage.length),
    withoutTarget('kill: listening again, median', `${formatCount(median(startsMs))} ms`),
    withoutTarget('kill: listening again, longest', `${formatCount(Math.max(0, ...startsMs))} ms`),
  ]
}
