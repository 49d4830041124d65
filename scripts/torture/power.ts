import { type Figure, formatCount, noneOf, printProgress, printTable, withoutTarget } from '#scripts/rig/report.ts'
import type { ScenarioReport } from '#scripts/rig/scenario.ts'
import { unsyncedOf } from './disk/power-cuts.ts'
import { compileDiskRecorder } from './disk/recorder.ts'
import { fleetFigures } from './fleet-figures.ts'
import type { FleetCheck } from './fleet-load.ts'
import type { TortureContext, TortureScenario } from './scenario.ts'
import { type CutOutcome, TorturedGateway } from './tortured-gateway.ts'

const CUTS = 30
const SHORT_CUTS = 2

/** Checks a disk that may lose writes that were not synced. */
export const power: TortureScenario = {
  name: 'power',
  summary: 'simulated power cuts: unsynced writes lost, torn or all kept; nothing acknowledged may be lost',
  run: runPower,
}

async function runPower(context: TortureContext): Promise<ScenarioReport> {
  const recorder = compileDiskRecorder(context.bench)
  if ('missing' in recorder) {
    printProgress(`  skipped: ${recorder.missing}`)
    return { figures: [withoutTarget('power: skipped', recorder.missing)], raw: recorder }
  }
  return context.proves ? prove(context, recorder.library) : torture(context, recorder.library)
}

async function torture(context: TortureContext, library: string): Promise<ScenarioReport> {
  const cuts = context.cycles ?? (context.isShort ? SHORT_CUTS : CUTS)
  const outcomes: CutOutcome[] = []
  const tortured = await TorturedGateway.start(context, library)
  for (let done = 1; done <= cuts; done++) {
    const outcome = await tortured.cutPower(unsyncedOf(done), 'honoured')
    outcomes.push(outcome)
    printProgress(`  cut ${done} of ${cuts}: ${describe(outcome)}`)
    if (outcome.check === null) throw new Error('the gateway does not start after a power cut')
  }
  const check = await tortured.finish()
  print(outcomes)
  return { figures: createFigures(outcomes, check), raw: { outcomes, check } }
}

/** Repeats the checks with a disk that reports syncs without doing them: they must find the lost data. */
async function prove(context: TortureContext, library: string): Promise<ScenarioReport> {
  const outcomes: CutOutcome[] = []
  for (const unsynced of ['none', 'some sectors'] as const) {
    const tortured = await TorturedGateway.start(context, library)
    outcomes.push(await tortured.cutPower(unsynced, 'ignored', 'under load'))
    printProgress(`  a disk that lies: ${outcomes.map(describe).at(-1)}`)
    tortured.abandon()
  }
  const figures = outcomes.map(({ cut, check, damage }): Figure => {
    const reached =
      check === null
        ? 'does not start'
        : `${formatCount(lostOf(check))} messages lost${damage.length > 0 ? ', damaged' : ''}`
    return {
      name: `power: a disk that ignores syncs, ${cut.unsynced} kept`,
      target: 'noticed',
      reached,
      passed: check === null || lostOf(check) > 0 || damage.length > 0,
    }
  })
  return { figures, raw: outcomes }
}

function lostOf(check: FleetCheck | null): number {
  if (check === null) return 0
  return check.history.missing + check.lockEvents.missing + check.lostDevices + check.wrongStates
}

function describe({ life, cut, damage, check }: CutOutcome): string {
  return (
    `${life.moment}, of ${formatCount(cut.changes)} changes ${cut.unsyncedChanges} unsynced, ${cut.unsynced} kept; ` +
    (check === null
      ? 'does not start, '
      : `${formatCount(check.history.acknowledged)} acknowledged, ${lostOf(check)} missing, `) +
    (damage.length === 0 ? 'not damaged' : `damaged: ${damage[0]?.split('\n')[0]}`)
  )
}

function print(outcomes: readonly CutOutcome[]): void {
  const rows = (['none', 'some sectors', 'all'] as const).map((mode) => {
    const ofMode = outcomes.filter(({ cut }) => cut.unsynced === mode)
    const sum = (count: (outcome: CutOutcome) => number) =>
      formatCount(ofMode.reduce((total, outcome) => total + count(outcome), 0))
    return [
      mode,
      formatCount(ofMode.length),
      sum(({ cut }) => cut.changes),
      sum(({ cut }) => cut.unsyncedChanges),
      sum(({ check }) => check?.history.acknowledged ?? 0),
      sum(({ check }) => lostOf(check)),
      sum(({ damage }) => damage.length),
    ]
  })
  printTable(
    'Power cuts, by the unsynced changes that the disk keeps',
    ['kept', 'cuts', 'changes', 'unsynced', 'acknowledged', 'missing', 'damaged'],
    rows,
  )
}

function createFigures(outcomes: readonly CutOutcome[], check: FleetCheck): Figure[] {
  const lostSomething = outcomes.filter(({ check }) => lostOf(check) > 0)
  return [
    noneOf(`power: cuts that lost something acknowledged, of ${outcomes.length}`, lostSomething.length),
    noneOf(
      'power: cuts after which integrity_check finds damage',
      outcomes.filter(({ damage }) => damage.length > 0).length,
    ),
    ...fleetFigures('power, after all cuts', check),
  ]
}
