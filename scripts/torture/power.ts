import { cpSync, rmSync } from 'node:fs'
import { none } from '#scripts/rig/figures.ts'
import { startGateway, untilListening } from '#scripts/rig/gateway-process.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { passForOriginal } from '#testing/damage/pass-for-original.ts'
import type { Unsynced } from './disk/file.ts'
import { countDamage } from './disk/integrity.ts'
import type { Syncs } from './disk/model.ts'
import { createDataFolder, type PowerCut, RecordedFolder } from './disk/recorded-folder.ts'
import { compileDiskRecorder } from './disk/recorder.ts'
import { FLEET_FIGURES, FleetLoad, type FleetValues, fleetSize } from './fleet-load.ts'
import { type Moment, MortalGateway } from './mortal-gateway.ts'
import { notMeasured, ordeal, type TortureContext } from './scenario.ts'

/** Parts of the changes that the disk keeps at the cuts, in rotation: there are many ways to tear. */
const UNSYNCED: readonly Unsynced[] = ['some sectors', 'none', 'some sectors', 'all']

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
      const outcome = await tortured.cutPower(UNSYNCED[done % UNSYNCED.length] ?? 'none', 'honoured')
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

function describe({ moment, cut, damage, check }: CutOutcome): string {
  const lost = check === null ? 'does not start' : `${check.samples} acknowledged, ${lostOf(check)} missing`
  return (
    `${moment}, of ${cut.changes} changes ${cut.unsyncedChanges} unsynced, ${cut.unsynced} kept; ` +
    `${lost}, ${damage === 0 ? 'not ' : ''}damaged`
  )
}

interface CutOutcome {
  moment: Moment
  cut: PowerCut
  /** Number of findings of the integrity check. */
  damage: number
  /** Check of the data acknowledged since the last cut; null if the gateway no longer starts. */
  check: FleetValues | null
}

/** Gateway under load whose folder goes through one power cut after the other. */
class TorturedGateway {
  readonly #context: TortureContext
  readonly #folder: RecordedFolder
  readonly #fleet: FleetLoad
  readonly #gateway: MortalGateway

  private constructor(context: TortureContext, folder: RecordedFolder, fleet: FleetLoad, gateway: MortalGateway) {
    this.#context = context
    this.#folder = folder
    this.#fleet = fleet
    this.#gateway = gateway
  }

  /** Registers the fleet; the first life is recorded too, so it includes the creation of the database. */
  static async start(context: TortureContext, library: string): Promise<TorturedGateway> {
    const { bench, entry, isShort } = context
    const folder = new RecordedFolder(bench, library, createDataFolder(bench, 'power'))
    const first = await startGateway(bench, { entry, dataDir: folder.path, ...folder.begin() })
    const fleet = await FleetLoad.start(bench, first, fleetSize(isShort))
    await first.process.stop('SIGKILL')
    folder.cut('none')
    const gateway = new MortalGateway(context, first.ports, () => fleet.connected())
    return new TorturedGateway(context, folder, fleet, gateway)
  }

  async cutPower(unsynced: Unsynced, syncs: Syncs, moment?: Moment): Promise<CutOutcome> {
    const death = await this.#gateway.cutPower(this.#folder, unsynced, syncs, moment)
    const damage = countDamage(this.#context.bench, this.#folder.path)
    return { ...death, damage, check: await this.#check() }
  }

  /** Checks everything that was ever acknowledged, after the last cut. */
  async finish(): Promise<FleetValues> {
    const last = await untilListening(this.#gateway.spawn({ dataDir: this.#folder.path }))
    await this.#fleet.connected()
    const { fleet } = await this.#fleet.finish(last)
    await last.process.stop()
    return fleet
  }

  /** Queries a gateway on a copy that no device reaches: the next life must begin with the state after the cut. */
  async #check(): Promise<FleetValues | null> {
    const { bench, entry } = this.#context
    const dataDir = createDataFolder(bench, 'copy')
    cpSync(this.#folder.path, dataDir, { recursive: true })
    passForOriginal(dataDir)
    const gateway = await startGateway(bench, { entry, dataDir }).catch(noteFailedStart)
    if (gateway === null) return null
    const check = await this.#fleet.checkNew(gateway)
    await gateway.process.stop()
    rmSync(dataDir, { recursive: true })
    return check
  }

  /** Ends the load without a check. */
  abandon(): void {
    this.#fleet.abandon()
  }
}

function noteFailedStart(error: unknown): null {
  printProgress(`  the gateway does not start: ${error instanceof Error ? error.message : String(error)}`)
  return null
}
