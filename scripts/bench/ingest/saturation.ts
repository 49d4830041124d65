import {
  atLeast,
  atMost,
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
  withoutTarget,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { createSubjects, type SubjectName, type SubjectRun } from './saturation-subjects.ts'

const CLIENT_COUNTS = [50, 500]
const SHORT_CLIENT_COUNTS = [20]
const SUBJECT_NAMES: SubjectName[] = ['gateway', 'gateway, everything on', 'mosquitto', 'gateway, slow fsync']
const LOOP_DELAY_TARGET_MS = 5
const CPU_TARGET_US = 6
/** Ratios of a fleet at full speed to the acknowledgements of Mosquitto, which stores nothing. */
const RATIO_TARGETS = { gateway: 1.5, 'gateway, everything on': 0.8 } as const

/** Measures the throughput of a broker when every client sends as fast as it is acknowledged. */
export async function runSaturation(context: ScenarioContext): Promise<ScenarioReport> {
  const rounds = context.rounds ?? (context.isShort ? 1 : 5)
  const durationS = context.durationS ?? (context.isShort ? 0.5 : 8)
  const counts = context.isShort ? SHORT_CLIENT_COUNTS : CLIENT_COUNTS
  const subjects = await createSubjects({ context, maxClients: Math.max(...counts), durationS })
  const runs: SubjectRun[] = []
  for (const clients of counts) {
    for (let round = 0; round < rounds; round++) {
      // Alternates, so that a machine that slows down meanwhile affects all of them.
      for (const subject of subjects) {
        const run = await subject.measure(clients)
        printProgress(`  ${clients} clients, ${run.subject}: ${formatCount(run.perS)}/s`)
        runs.push(run)
      }
    }
  }
  for (const subject of subjects) await subject.stop?.()
  printMedians(counts, runs)
  const sum = (pick: (run: SubjectRun) => number | undefined) =>
    runs.reduce((total, run) => total + (pick(run) ?? 0), 0)
  const [frames, rows] = [sum((run) => run.beside?.frames), Math.max(...runs.map((run) => run.beside?.rows ?? 0))]
  return {
    figures: [
      ...counts.flatMap((clients) => createFigures(clients, runs, !context.isShort)),
      noneOf(
        'saturation: acknowledged but not stored',
        sum((run) => run.notStored ?? 0),
      ),
      withoutTarget(
        'saturation, everything on: frames to sockets, rows at the hub',
        `${formatCount(frames)}, ${formatCount(rows)}`,
      ),
    ],
    raw: { rounds, durationS, runs },
  }
}

function printMedians(counts: readonly number[], runs: readonly SubjectRun[]): void {
  const rows = counts.flatMap((clients) =>
    SUBJECT_NAMES.flatMap((subject) => {
      const group = select(runs, subject, clients)
      if (group.length === 0) return []
      const of = (pick: (run: SubjectRun) => number) => median(group.map(pick))
      return [
        [
          `${clients} clients, ${subject}`,
          formatCount(of((run) => run.perS)),
          of((run) => run.brokerCpuUs).toFixed(1),
          formatMs(of((run) => run.sinceWrite.p50Ms)),
          formatMs(of((run) => run.sinceWrite.p99Ms)),
          subject === 'mosquitto' ? '' : formatMs(of((run) => run.loopDelayP99Ms ?? 0)),
          of((run) => run.generatorCpuUs).toFixed(1),
          formatPercent(of((run) => run.generatorCpuShare)),
          formatPercent(of((run) => run.stolenShare)),
        ],
      ]
    }),
  )
  const header = [
    'medians',
    'acked/s',
    'CPU us/message',
    'ack p50 ms',
    'ack p99 ms',
    'loop p99 ms',
    'generator us/message',
    'of a core',
    'stolen',
  ]
  printTable('Saturation, QoS 1', header, rows)
}

function createFigures(clients: number, runs: readonly SubjectRun[], isJudged: boolean): Figure[] {
  const of = (subject: SubjectName) => select(runs, subject, clients)
  const [gateway, slow] = [of('gateway'), of('gateway, slow fsync')]
  const title = `saturation: ${clients} clients`
  return [
    withoutTarget(`${title}, acknowledged a second`, formatCount(median(gateway.map((run) => run.perS)))),
    atMost(`${title}, CPU a message`, median(gateway.map((run) => run.brokerCpuUs)), CPU_TARGET_US, {
      unit: ' us',
      digits: 1,
      isJudged,
    }),
    ...createRatios(clients, of, isJudged),
    ...(slow.length === 0
      ? []
      : [
          below(
            `${title}, loop delay p99 with 10 ms fsyncs`,
            median(slow.map((run) => run.loopDelayP99Ms ?? 0)),
            LOOP_DELAY_TARGET_MS,
            { unit: ' ms', digits: 1, isJudged },
          ),
        ]),
  ]
}

function createRatios(clients: number, of: (subject: SubjectName) => SubjectRun[], isJudged: boolean): Figure[] {
  const mosquitto = of('mosquitto')
  if (mosquitto.length === 0) return []
  // few clients are not a fleet: the targets are for many
  const isFleet = clients >= Math.max(...CLIENT_COUNTS)
  return (['gateway', 'gateway, everything on'] as const).flatMap((subject) => {
    const ratio = (pick: (run: SubjectRun) => number) => medianRatio(of(subject).map(pick), mosquitto.map(pick))
    const title = `saturation: ${clients} clients, ${subject} : Mosquitto`
    return [
      atLeast(
        `${title}, a second`,
        ratio((run) => run.perS),
        RATIO_TARGETS[subject],
        {
          digits: 2,
          isJudged: isJudged && isFleet,
        },
      ),
      withoutTarget(`${title}, per CPU second`, ratio((run) => 1 / run.brokerCpuUs).toFixed(2)),
    ]
  })
}

function select(runs: readonly SubjectRun[], subject: SubjectName, clients: number): SubjectRun[] {
  return runs.filter((run) => run.subject === subject && run.clients === clients)
}

/** Median of the ratios round by round: consecutive runs had the same conditions on the machine. */
function medianRatio(numerators: readonly number[], denominators: readonly number[]): number {
  return median(numerators.map((numerator, round) => numerator / (denominators[round] ?? Number.NaN)))
}
