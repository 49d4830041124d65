import { none } from '#scripts/rig/figures.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { notMeasured, type OrdealContext, ordeal, printFaults } from '../scenario.ts'
import { SYNC_FAULTS, SyncFindings } from './findings.ts'
import type { HubDatabase } from './hub.ts'
import { runStories, STORIES } from './stories.ts'
import { SyncWorld, type Victim } from './world.ts'

/** Share of the cycles that are on the embedded database, which takes seconds to start; none if there are few. */
const EMBEDDED_SHARE = 0.05
/** Cycles between two checks of everything. */
const JUDGE_EVERY = 25
const TRACE = 30

/** Checks that a hub gets everything the gateway has, whatever happens on the network. */
export const sync = ordeal({
  name: 'sync',
  summary: 'replication through a bad network and kills of gateway, hub and database; both sides must be equal',
  cycles: [500, 15],
  figures: {
    cycles: { what: 'cycles' },
    ...SYNC_FAULTS,
    epochs: none('new epochs without a reason'),
    unnoticed: none('damaged hubs that the checks missed'),
    ...STORIES,
    records: { what: 'records that were compared' },
    excused: { what: 'missing records that a reported gap explains' },
    rows: { what: 'rows of events and entities that were compared' },
    blocks: { what: 'blocks that were checked' },
    photoBytes: { what: 'bytes of photos that were compared' },
    actions: { what: 'requests to the API', by: 'sum' },
    networkFaults: { what: 'faults on the network', by: 'sum' },
    lostResponses: { what: 'commits whose response was lost', by: 'sum', target: ['>=', 1] },
    gatewayDeaths: { what: 'deaths of a gateway', by: 'sum', target: ['>=', 1] },
    hubDeaths: { what: 'deaths of a hub', by: 'sum', target: ['>=', 1] },
    databaseDeaths: { what: 'deaths of a database', by: 'sum', target: ['>=', 1] },
    deathsBetweenPieces: {
      what: 'deaths between two chunks of a photo or drawing',
      by: 'sum',
      target: ['>=', 1],
    },
    drained: { what: 'from the end of all faults until everything is sent', unit: ' s', digits: 1 },
  },
  async run(context) {
    const { cycles } = context
    const embedded = isBrief(context) ? 0 : Math.floor(cycles * EMBEDDED_SHARE)
    const findings = new SyncFindings()
    const lives = [await live(context, 'PostgreSQL', cycles - embedded, findings)]
    if (embedded > 0) lives.push(await live(context, 'PGlite', embedded, findings))
    const stories = isBrief(context) ? notMeasured(STORIES) : await runStories(context)
    const worlds = lives.map(({ world }) => world)
    const deathsOf = (victim: Victim) => worlds.map(({ kills }) => kills.get(victim) ?? 0)
    return {
      cycles,
      ...findings.counts,
      epochs: lives.map(({ epochs }) => epochs - 1),
      unnoticed: lives.map(({ unnoticed }) => unnoticed),
      ...stories,
      ...findings.compared,
      actions: worlds.map(({ traffic }) => sum(traffic.counts)),
      networkFaults: worlds.map(({ proxy }) => sum(proxy.counts) - (proxy.counts.get('none') ?? 0)),
      lostResponses: worlds.map(({ proxy }) => proxy.counts.get('cut before answer') ?? 0),
      gatewayDeaths: deathsOf('gateway'),
      hubDeaths: deathsOf('hub'),
      databaseDeaths: deathsOf('database'),
      deathsBetweenPieces: worlds.map(({ killsBetweenPieces }) => killsBetweenPieces),
      drained: lives.flatMap(({ drainedS }) => drainedS),
    }
  },
})

/** Leaves out what takes long: a second database, audits, stories. */
function isBrief({ isShort, proves }: OrdealContext): boolean {
  return isShort || proves
}

/** World after its faults, with its epochs and the ways of damaging a hub that no check noticed. */
interface Life {
  world: SyncWorld
  epochs: number
  drainedS: readonly number[]
  unnoticed: number
}

async function live(context: OrdealContext, database: HubDatabase, cycles: number, total: SyncFindings): Promise<Life> {
  const { seed } = context
  printProgress(`  ${cycles} cycles on ${database}, seed ${seed}`)
  const world = await SyncWorld.start(context, database, seed)
  const trace: string[] = []
  try {
    for (let number = 1; number <= cycles; number++) {
      trace.push(`${number}: ${await world.cycle(number)}`)
      const isLast = number === cycles
      if (number % JUDGE_EVERY !== 0 && !isLast) continue
      const findings = await world.judge({ withAudit: isLast && !isBrief(context), isLast })
      total.add(findings)
      const { records, rows } = findings.compared
      printProgress(`  ${number} of ${cycles} cycles: ${records} records, ${rows} rows, ${findings.total} faults`)
      if (findings.total === 0) continue
      printFaults(findings.examples)
      printProgress(`    the last cycles: ${trace.slice(-TRACE).join('; ')}`)
    }
    const drainedS = world.drainedMs.map((ms) => ms / 1000)
    const unnoticed = await world.findUnnoticed()
    printFaults(unnoticed.map((name) => `not noticed: ${name}`))
    return { world, epochs: await world.countEpochs(), drainedS, unnoticed: unnoticed.length }
  } finally {
    await world.stop()
  }
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0)
}
