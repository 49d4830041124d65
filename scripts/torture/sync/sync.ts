import { randomInt } from 'node:crypto'
import { type Figure, formatCount, noneOf, printProgress, printTable, withoutTarget } from '#scripts/rig/report.ts'
import type { ScenarioReport } from '#scripts/rig/scenario.ts'
import type { TortureContext, TortureScenario } from '../scenario.ts'
import { SYNC_FAULTS, type SyncFault, type SyncFindings } from './findings.ts'
import type { HubDatabase } from './hub.ts'
import { runStories } from './stories.ts'
import type { Story } from './story.ts'
import { SyncWorld } from './world.ts'

const CYCLES = 500
const SHORT_CYCLES = 15
/** Share of the cycles that are on the embedded database, which takes seconds to start; none if there are few. */
const EMBEDDED_SHARE = 0.05
/** Cycles between two checks of everything. */
const JUDGE_EVERY = 25
const TRACE = 30

/** World with its faults, and the findings. */
interface Life {
  database: HubDatabase
  seed: number
  cycles: number
  kills: Record<string, number>
  killsBetweenPieces: number
  faults: Record<string, number>
  actions: Record<string, number>
  judgements: SyncFindings[]
  /** Ways of damaging a hub that no check noticed. */
  unnoticed: string[]
  epochs: number
  seconds: number
}

interface Outcome {
  lives: Life[]
  stories: Story[]
}

/** Checks that a hub gets everything the gateway has, whatever happens on the network. */
export const sync: TortureScenario = {
  name: 'sync',
  summary: 'replication through a bad network and kills of gateway, hub and database; both sides must be equal',
  run: async (context) => {
    const outcome = await torture(context)
    print(outcome)
    return { figures: createFigures(outcome, isBrief(context)), raw: outcome } satisfies ScenarioReport
  },
}

async function torture(context: TortureContext): Promise<Outcome> {
  const { cycles } = context
  const all = cycles ?? (isBrief(context) ? SHORT_CYCLES : CYCLES)
  const embedded = isBrief(context) ? 0 : Math.floor(all * EMBEDDED_SHARE)
  const lives = [await live(context, 'PostgreSQL', all - embedded)]
  if (embedded > 0) lives.push(await live(context, 'PGlite', embedded))
  const stories = isBrief(context) ? [] : await runStories(context)
  return { lives, stories }
}

/** Leaves out what takes long: a second database, audits, stories. */
function isBrief({ isShort, proves }: TortureContext): boolean {
  return isShort || proves
}

async function live(context: TortureContext, database: HubDatabase, cycles: number): Promise<Life> {
  const seed = context.seed ?? randomInt(2 ** 31)
  const startedAtMs = performance.now()
  printProgress(`  ${cycles} cycles on ${database}, seed ${seed}`)
  const world = await SyncWorld.start(context, database, seed)
  const judgements: SyncFindings[] = []
  const trace: string[] = []
  try {
    for (let number = 1; number <= cycles; number++) {
      trace.push(`${number}: ${await world.cycle(number)}`)
      if (number % JUDGE_EVERY !== 0 && number !== cycles) continue
      const isLast = number === cycles
      const findings = await world.judge({ withAudit: isLast && !isBrief(context), isLast })
      judgements.push(findings)
      const { records, events, entities } = findings.compared
      printProgress(
        `  ${number} of ${cycles} cycles: ${formatCount(records)} records, ${events} events, ${entities} entities, ` +
          `${findings.total} faults, sent after ${formatSeconds(world.drainedMs.at(-1))}`,
      )
      for (const example of findings.examples) printProgress(`    ${example}`)
      if (findings.total > 0) printProgress(`    the last cycles: ${trace.slice(-TRACE).join('; ')}`)
    }
    const unnoticed = await world.findUnnoticed()
    return {
      database,
      seed,
      cycles,
      judgements,
      unnoticed,
      killsBetweenPieces: world.killsBetweenPieces,
      epochs: await world.countEpochs(),
      kills: Object.fromEntries(world.kills),
      faults: Object.fromEntries(world.proxy.counts),
      actions: Object.fromEntries(world.traffic.counts),
      seconds: (performance.now() - startedAtMs) / 1000,
    }
  } finally {
    await world.stop()
  }
}

function print({ lives, stories }: Outcome): void {
  for (const { database, cycles, kills, faults, actions, judgements, seconds } of lives) {
    const compared = judgements.at(-1)?.compared
    const sum = (counts: Record<string, number>) => Object.values(counts).reduce((a, b) => a + b, 0)
    printTable(
      `Sync: ${cycles} cycles on ${database} in ${seconds.toFixed(0)} s`,
      ['records', 'excused', 'events', 'entities', 'blocks', 'faults on the network', 'actions'],
      [
        [
          compared?.records ?? 0,
          compared?.excused ?? 0,
          compared?.events ?? 0,
          compared?.entities ?? 0,
          compared?.blocks ?? 0,
          sum(faults) - (faults.none ?? 0),
          sum(actions),
        ].map(formatCount),
      ],
    )
    for (const counts of [kills, faults, actions]) printProgress(`  ${describe(counts)}`)
  }
  for (const { name, statuses, problems } of stories) {
    printProgress(`\n  ${name}`)
    for (const sentence of statuses) printProgress(`    ${sentence}`)
    for (const problem of problems) printProgress(`    WRONG: ${problem}`)
  }
}

function formatSeconds(ms = 0): string {
  return `${(ms / 1000).toFixed(1)} s`
}

function describe(counts: Record<string, number>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ')
}

function createFigures({ lives, stories }: Outcome, isPartial: boolean): Figure[] {
  const judgements = lives.flatMap((life) => life.judgements)
  const records = formatCount(Math.max(0, ...judgements.map(({ compared }) => compared.records)))
  const photoBytes = judgements.reduce((total, { compared }) => total + compared.photoBytes, 0)
  const faults = Object.keys(SYNC_FAULTS) as SyncFault[]
  const sum = (name: string, pick: (life: Life) => number): Figure => {
    const count = lives.reduce((total, life) => total + pick(life), 0)
    return { name, target: '> 0', reached: formatCount(count), passed: isPartial ? null : count > 0 }
  }
  return [
    ...faults.map((fault) =>
      noneOf(
        `sync: ${SYNC_FAULTS[fault]}`,
        judgements.reduce((total, findings) => total + findings.of(fault), 0),
      ),
    ),
    noneOf(
      'sync: new epochs without a reason',
      lives.reduce((total, { epochs }) => total + epochs - 1, 0),
    ),
    noneOf(
      'sync: damaged hubs that the checks missed',
      lives.reduce((total, { unnoticed }) => total + unnoticed.length, 0),
    ),
    ...stories.map(({ name, problems }) => noneOf(`sync: ${name}`, problems.length)),
    withoutTarget('sync: records at the hub at the end', records),
    withoutTarget('sync: bytes of photos that were compared', formatCount(photoBytes)),
    sum('sync: deaths of a gateway', ({ kills }) => kills.gateway ?? 0),
    sum('sync: deaths of a hub', ({ kills }) => kills.hub ?? 0),
    sum('sync: deaths of a database', ({ kills }) => kills.database ?? 0),
    sum('sync: deaths between two chunks of a photo or drawing', (life) => life.killsBetweenPieces),
    sum('sync: commits whose response was lost', ({ faults }) => faults['cut before answer'] ?? 0),
  ]
}
