import { ForkedScript } from '#scripts/rig/calls.ts'
import { type AttackPlan, type AttackResult, replayOf } from '#scripts/rig/neighbours/attack-plan.ts'
import { startNeighbour } from '#scripts/rig/neighbours/process.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import {
  atMost,
  type Figure,
  formatCount,
  formatMs,
  median,
  noneOf,
  printProgress,
  type ScenarioReport,
  withoutTarget,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import type { DiscardFunctions } from './discard.ts'

const TARGET_RATIO = 2
const TARGET_LONGEST_MS = 1000
const ROUNDS = 3
const DURATION_S = 8
const SHORT_DURATION_S = 0.5

/** Measurements of the other clients, by the name of their action. */
export interface Noticed {
  p99Ms: Record<string, number>
  longestMs: Record<string, number>
  /** Numbers of losses; each must be 0. */
  lost: Record<string, number>
}

interface Side {
  noticed: Noticed
  /** Result until all connections were tried. */
  start: AttackResult
  /** Result while the others were measured. */
  measured: AttackResult
}

/** The same clients and the same generator twice: with the attacked server, and against a port that discards. */
export interface Run {
  beside: Side
  base: Side
}

/** Clients that are present before the noisy client and after it has left. */
export interface Others {
  /** Resolves when the measured time is over. */
  measure(): Promise<void>
  finish(): Promise<Noticed>
}

/** Environment in which a row is measured. */
export interface Environment {
  /** Called before each side of a run, so that neither is affected by the other. */
  begin(side: keyof Run): Promise<void>
  /** Plan of the noisy client; called after `begin`. */
  plan(): AttackPlan | Promise<AttackPlan>
  /** Connects all other clients and starts their work. */
  gather(durationS: number): Promise<Others>
  end(): Promise<void>
}

/** Measures one kind of noisy client: several runs, or a short one. */
export async function measureNeighbour(
  name: string,
  context: ScenarioContext,
  environment: Environment,
): Promise<ScenarioReport> {
  const { isShort } = context
  const rounds = context.rounds ?? (isShort ? 1 : ROUNDS)
  const durationS = context.durationS ?? (isShort ? SHORT_DURATION_S : DURATION_S)
  const runs: Run[] = []
  for (let round = 0; round < rounds; round++) {
    const run = await measureRun(context.bench, environment, durationS)
    printProgress(`  ${describeRun(run)}`)
    runs.push(run)
  }
  return { figures: createFigures(name, runs, !isShort), raw: { rounds, durationS, runs } }
}

async function measureRun(bench: Workbench, environment: Environment, durationS: number): Promise<Run> {
  await environment.begin('beside')
  const plan = await environment.plan()
  const beside = await measureSide(bench, environment, plan, durationS)
  await environment.end()
  const script = new URL('./discard.ts', import.meta.url)
  const discard = new ForkedScript<DiscardFunctions>(bench, 'discarding port', script)
  await environment.begin('base')
  const replay = replayOf(plan, beside, await discard.call('listen'))
  const base = await measureSide(bench, environment, replay, durationS)
  await environment.end()
  await discard.stop()
  return { beside, base }
}

async function measureSide(
  bench: Workbench,
  environment: Environment,
  plan: AttackPlan,
  durationS: number,
): Promise<Side> {
  const neighbour = startNeighbour(bench)
  const others = await environment.gather(durationS)
  const start = await neighbour.call('start', plan)
  await others.measure()
  const measured = await neighbour.call('result')
  await neighbour.stop()
  return { noticed: await others.finish(), start, measured }
}

function describeRun({ beside, base }: Run): string {
  const times = Object.keys(beside.noticed.p99Ms).map((what) => {
    const [slow, usual] = [beside, base].map(({ noticed }) => formatMs(noticed.p99Ms[what] ?? 0))
    return `${what} p99 ${slow} : ${usual} ms`
  })
  const longest = Object.entries(beside.noticed.longestMs).map(([what, ms]) => `longest ${what} ${formatMs(ms)} ms`)
  return [...times, ...longest, didOf(beside)].join('; ')
}

function didOf({ start, measured }: Side): string {
  const counts = new Map<string, number>()
  const sum = (name: string, count: number) => counts.set(name, (counts.get(name) ?? 0) + count)
  for (const { opens, writes, counts: others } of [start, measured]) {
    sum('connections', opens)
    sum('writes', writes)
    for (const [name, count] of Object.entries(others)) sum(name, count)
  }
  return [...counts].map(([name, count]) => `${formatCount(count)} ${name}`).join(', ')
}

function createFigures(row: string, runs: readonly Run[], isJudged: boolean): Figure[] {
  const first = runs[0]?.beside.noticed ?? { p99Ms: {}, longestMs: {}, lost: {} }
  const of = (side: keyof Run, pick: (noticed: Noticed) => number | undefined) =>
    runs.map((run) => pick(run[side].noticed) ?? 0)
  const cpu = (side: keyof Run) => median(runs.map((run) => run[side].measured.cpuS)).toFixed(1)
  const last = runs.at(-1)?.beside
  return [
    ...Object.keys(first.p99Ms).map((what) => {
      const [beside, base] = [
        median(of('beside', ({ p99Ms }) => p99Ms[what])),
        median(of('base', ({ p99Ms }) => p99Ms[what])),
      ]
      const detail = `${formatMs(beside)} : ${formatMs(base)} ms`
      return atMost(`${row}: ${what} p99 attacked : base`, beside / base, TARGET_RATIO, {
        digits: 2,
        detail,
        isJudged,
      })
    }),
    ...Object.keys(first.longestMs).map((what) => {
      const longest = Math.max(...of('beside', ({ longestMs }) => longestMs[what]))
      const options = { unit: ' ms', isJudged }
      return atMost(`${row}: longest ${what}`, longest, TARGET_LONGEST_MS, options)
    }),
    ...Object.keys(first.lost).map((what) => {
      const both = [...of('beside', ({ lost }) => lost[what]), ...of('base', ({ lost }) => lost[what])]
      return noneOf(
        `${row}: ${what}`,
        both.reduce((sum, each) => sum + each, 0),
      )
    }),
    withoutTarget(
      `${row}: CPU of the generator attacking : base; runs`,
      `${cpu('beside')} : ${cpu('base')} s; ${runs.length}`,
    ),
    withoutTarget(
      `${row}: operations of the noisy client in the last run`,
      last === undefined ? 'nothing' : didOf(last),
    ),
  ]
}
