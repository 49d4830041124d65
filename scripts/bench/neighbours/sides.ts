import { createServer } from 'node:net'
import type { Figure } from '#scripts/rig/figures.ts'
import { listen } from '#scripts/rig/listen.ts'
import { type AttackPlan, type AttackResult, replayOf } from '#scripts/rig/neighbours/attack-plan.ts'
import { startNeighbour } from '#scripts/rig/neighbours/process.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import { printProgress } from '#scripts/rig/report.ts'
import type { RunContext } from '#scripts/rig/scenario.ts'

/** Server with its usual clients, which are connected before the noisy client and stay after it. */
export interface Stage<Seen> {
  /** Ports of the server. */
  readonly ports: { http: number; mqtt: number }
  /** Plan of the noisy client. */
  plan(): AttackPlan | Promise<AttackPlan>
  /** Resolves when the measured time is over. */
  measure(): Promise<void>
  /** Ends the stage; returns the waiting times and losses of the usual clients. */
  finish(): Promise<Seen>
}

interface Side<Seen> {
  readonly plan: AttackPlan
  readonly seen: Seen
  /** Result until all connections were tried. */
  readonly start: AttackResult
  /** Result while the others were measured. */
  readonly measured: AttackResult
}

/** The same clients and the same generator twice: with the attacked server, and against a port that discards. */
export interface Round<Seen> {
  readonly attacked: Side<Seen>
  readonly base: Side<Seen>
}

/** Measures both sides in each round, on a stage of their own. */
export async function measureRounds<Seen>(
  { bench, rounds: count }: RunContext,
  open: (side: keyof Round<Seen>) => Promise<Stage<Seen>>,
): Promise<Round<Seen>[]> {
  const rounds: Round<Seen>[] = []
  for (let round = 0; round < count; round++) {
    const attacked = await measureSide(bench, () => open('attacked'))
    // in this process, which is idle while the others are measured
    const discarding = createServer((socket) => socket.on('error', () => socket.destroy()).resume())
    const port = await listen(discarding)
    const replay = { plan: replayOf(attacked.plan, attacked), ports: { http: port, mqtt: port } }
    const base = await measureSide(bench, () => open('base'), replay)
    discarding.close()
    printProgress(`  ${JSON.stringify([attacked.start.counts, attacked.measured.counts])}`)
    rounds.push({ attacked, base })
  }
  return rounds
}

/** Measures a side with its own plan, or with another at other ports. */
async function measureSide<Seen>(
  bench: Workbench,
  open: () => Promise<Stage<Seen>>,
  replay?: Pick<Side<Seen>, 'plan'> & Pick<Stage<Seen>, 'ports'>,
): Promise<Side<Seen>> {
  const neighbour = startNeighbour(bench)
  const stage = await open()
  const { plan, ports } = replay ?? { plan: await stage.plan(), ports: stage.ports }
  const start = await neighbour.call('start', plan, ports)
  await stage.measure()
  const measured = await neighbour.call('result')
  await neighbour.stop()
  return { plan, seen: await stage.finish(), start, measured }
}

/** Figure of the waiting time of usual clients. */
export function waiting(what: string): Figure {
  return { what: `p99 of ${what}, attacked : base`, target: ['<=', 2], digits: 2 }
}

/** Figure of the same time without the attack. */
export const BASE: Figure = { what: 'the same: base', unit: ' ms', digits: 1 }

/** Returns a measurement of each round, attacked : base. */
export function ratios<Key extends string>(rounds: readonly Round<Record<Key, number>>[], key: Key): number[] {
  return rounds.map(({ attacked, base }) => attacked.seen[key] / base.seen[key])
}

/** Returns a measurement of both sides of all rounds. */
export function ofBoth<Key extends string>(rounds: readonly Round<Record<Key, number>>[], key: Key): number[] {
  return rounds.flatMap(({ attacked, base }) => [attacked.seen[key], base.seen[key]])
}

/** Figures of the noisy client itself. */
export const NOISE_FIGURES = {
  tried: { what: 'connections and messages of the noisy client' },
  refused: { what: 'refused to it: connections, requests, logins, filters, messages' },
  cpu: { what: 'CPU of the noisy client, attacked : base', digits: 2 },
} satisfies Record<string, Figure>

/** Values of these figures. */
export function noiseValues(rounds: readonly Round<unknown>[]): Record<keyof typeof NOISE_FIGURES, number[]> {
  const results = rounds.map(({ attacked }) => [attacked.start, attacked.measured])
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  const refused = ({ counts }: AttackResult) =>
    sum(Object.entries(counts).map(([name, count]) => (/ refused$|^status [45]/.test(name) ? count : 0)))
  return {
    tried: results.map((both) => sum(both.map(({ opens, writes }) => opens + writes))),
    refused: results.map((both) => sum(both.map(refused))),
    cpu: rounds.map(({ attacked, base }) => attacked.measured.cpuS / base.measured.cpuS),
  }
}
