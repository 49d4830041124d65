import { none } from '#scripts/rig/figures.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { unsyncedOf } from './disk/power-cuts.ts'
import { compileDiskRecorder } from './disk/recorder.ts'
import { FLEET_FIGURES, type FleetValues } from './fleet-load.ts'
import { notMeasured, ordeal, type TortureContext } from './scenario.ts'
import { type CutOutcome, TorturedGateway } from './tortured-gateway.ts'

const FIGURES = {
  cuts: { what: 'power cuts' },
  changes: { what: 'changes of files before them' },
  unsynced: { what: 'unsynced ones of these' },
  losing: none('cuts that lost something acknowledged'),
  damaging: none('cuts after which integrity_check finds damage'),
  ...FLEET_FIGURES,
  unnoticed: none('disks that ignore syncs, without a finding'),
}

/** Checks a disk that may lose writes that were not synced. */
export const power = ordeal({
  name: 'power',
  summary: 'simulated power cuts: unsynced writes lost, torn or all kept; nothing acknowledged may be lost',
  cycles: [30, 2],
  figures: FIGURES,
  async run(context) {
    const { bench, cycles, proves } = context
    const recorder = compileDiskRecorder(bench)
    if ('missing' in recorder) {
      printProgress(`  skipped: ${recorder.missing}`)
      return notMeasured(FIGURES)
    }
    if (proves) return { ...notMeasured(FIGURES), unnoticed: await countUnnoticed(context, recorder.library) }

    const outcomes: CutOutcome[] = []
    const tortured = await TorturedGateway.start(context, recorder.library)
    for (let done = 1; done <= cycles; done++) {
      const outcome = await tortured.cutPower(unsyncedOf(done), 'honoured')
      outcomes.push(outcome)
      printProgress(`  cut ${done} of ${cycles}: ${describe(outcome)}`)
      if (outcome.check === null) throw new Error('the gateway does not start after a power cut')
    }
    return {
      cuts: outcomes.length,
      changes: outcomes.reduce((sum, { cut }) => sum + cut.changes, 0),
      unsynced: outcomes.reduce((sum, { cut }) => sum + cut.unsyncedChanges, 0),
      losing: outcomes.filter(({ check }) => lostOf(check) > 0).length,
      damaging: outcomes.filter(({ damage }) => damage > 0).length,
      ...(await tortured.finish()),
      unnoticed: null,
    }
  },
})

/** Repeats the checks with a disk that reports syncs without doing them: they must find the lost data. */
async function countUnnoticed(context: TortureContext, library: string): Promise<number> {
  let unnoticed = 0
  for (const unsynced of ['none', 'some sectors'] as const) {
    const tortured = await TorturedGateway.start(context, library)
    const outcome = await tortured.cutPower(unsynced, 'ignored', 'under load')
    tortured.abandon()
    const isNoticed = outcome.check === null || lostOf(outcome.check) > 0 || outcome.damage > 0
    if (!isNoticed) unnoticed++
    printProgress(`  a disk that lies, ${isNoticed ? 'noticed' : 'NOT NOTICED'}: ${describe(outcome)}`)
  }
  return unnoticed
}

function lostOf(check: FleetValues | null): number {
  if (check === null) return 0
  return check.samplesMissing + check.lockEventsMissing + check.devicesMissing + check.wrongStates
}

function describe({ life, cut, damage, check }: CutOutcome): string {
  const lost = check === null ? 'does not start' : `${check.samples} acknowledged, ${lostOf(check)} missing`
  return (
    `${life.moment}, of ${cut.changes} changes ${cut.unsyncedChanges} unsynced, ${cut.unsynced} kept; ` +
    `${lost}, ${damage === 0 ? 'not ' : ''}damaged`
  )
}
