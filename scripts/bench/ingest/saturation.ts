import {
  below,
  type Figure,
  formatCount,
  formatMs,
  formatPercent,
  median,
  noneOf,
  printProgress,
  printTable,
  type ScenarioReport,
  told,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { createSubjects, type SubjectName, type SubjectRun } from './saturation-subjects.ts'

const CLIENT_COUNTS = [50, 500]
const SUBJECT_NAMES: SubjectName[] = ['gateway', 'mosquitto', 'gateway, slow fsync']
const LOOP_DELAY_TARGET_MS = 5

/** How much a broker takes when every client sends as fast as it is acknowledged. */
export async function runSaturation(context: ScenarioContext): Promise<ScenarioReport> {
  const rounds = context.rounds ?? (context.isShort ? 1 : 5)
  const durationS = context.durationS ?? (context.isShort ? 3 : 8)
  const subjects = await createSubjects(context, Math.max(...CLIENT_COUNTS), durationS)
  const runs: SubjectRun[] = []
  for (const clients of CLIENT_COUNTS) {
    for (let round = 0; round < rounds; round++) {
      // In turn, so that a machine that gets slower meanwhile does so for all of them.
      for (const measure of subjects) {
        const run = await measure(clients)
        printProgress(`  ${clients} clients, ${run.subject}: ${formatCount(run.perS)}/s`)
        runs.push(run)
      }
    }
  }
  printMedians(runs)
  return { figures: createFigures(runs), raw: { rounds, durationS, runs } }
}

function printMedians(runs: readonly SubjectRun[]): void {
  const rows = CLIENT_COUNTS.flatMap((clients) =>
    SUBJECT_NAMES.flatMap((subject) => {
      const group = select(runs, subject, clients)
      if (group.length === 0) return []
      const of = (pick: (run: SubjectRun) => number) => median(group.map(pick))
      return [
        [
          `${clients} clients, ${subject}`,
          formatCount(of((run) => run.perS)),
          of((run) => run.brokerCpuSPerMillion).toFixed(1),
          formatMs(of((run) => run.load.measured.sinceWrite.p50Ms)),
          formatMs(of((run) => run.load.measured.sinceWrite.p99Ms)),
          subject === 'mosquitto' ? '' : formatMs(of((run) => run.loopDelayP99Ms ?? 0)),
          of((run) => run.generatorCpuSPerMillion).toFixed(1),
          formatPercent(of((run) => run.generatorCpuShare)),
          formatPercent(of((run) => run.stolenShare)),
        ],
      ]
    }),
  )
  const header = [
    'medians',
    'acked/s',
    'CPU s/million',
    'ack p50 ms',
    'ack p99 ms',
    'loop p99 ms',
    'generator s/million',
    'of a core',
    'stolen',
  ]
  printTable('Saturation, QoS 1', header, rows)
}

function createFigures(runs: readonly SubjectRun[]): Figure[] {
  const notStored = runs.reduce((sum, run) => sum + (run.notStored ?? 0), 0)
  return [
    ...CLIENT_COUNTS.flatMap((clients) => createFiguresFor(clients, runs)),
    noneOf('saturation: acknowledged but not stored', notStored),
  ]
}

function createFiguresFor(clients: number, runs: readonly SubjectRun[]): Figure[] {
  const perS = (subject: SubjectName) => median(select(runs, subject, clients).map((run) => run.perS))
  const figures: Figure[] = [
    told(`saturation: ${clients} clients, acknowledged a second`, formatCount(perS('gateway'))),
  ]
  const mosquitto = select(runs, 'mosquitto', clients)
  if (mosquitto.length > 0) {
    const gateway = select(runs, 'gateway', clients)
    const ratio = (pick: (run: SubjectRun) => number) => medianRatio(gateway.map(pick), mosquitto.map(pick))
    figures.push(
      told(
        `saturation: ${clients} clients, gateway : Mosquitto, a second`,
        ratio((run) => run.perS).toFixed(2),
      ),
      told(
        `saturation: ${clients} clients, gateway : Mosquitto, per CPU second`,
        ratio((run) => 1 / run.brokerCpuSPerMillion).toFixed(2),
      ),
    )
  }
  const slow = select(runs, 'gateway, slow fsync', clients)
  if (slow.length > 0) {
    const delayMs = median(slow.map((run) => run.loopDelayP99Ms ?? 0))
    const name = `saturation: ${clients} clients, loop delay p99 with 10 ms fsyncs`
    figures.push(below(name, delayMs, LOOP_DELAY_TARGET_MS, { unit: ' ms', digits: 1 }))
  }
  return figures
}

function select(runs: readonly SubjectRun[], subject: SubjectName, clients: number): SubjectRun[] {
  return runs.filter((run) => run.subject === subject && run.clients === clients)
}

/** Median of the ratios round by round: runs next to each other saw the same machine. */
function medianRatio(numerators: readonly number[], denominators: readonly number[]): number {
  return median(numerators.map((numerator, round) => numerator / (denominators[round] ?? Number.NaN)))
}
