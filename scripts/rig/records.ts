import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { type Figure, lineOf, type Value } from './figures.ts'
import type { Line } from './report.ts'
import type { Scenario } from './scenario.ts'

/** All measured figures, oldest first, one in a line. */
const FILE = new URL('../../docs/figures.jsonl', import.meta.url)
/** Files that a recording changes itself. */
const OWN = ['docs/figures.jsonl', 'docs/performance.md', 'docs/performance-clients.md', 'docs/faults.md']

/** Measured figure. */
export interface FigureRecord {
  readonly date: string
  readonly commit: string
  readonly machine: string
  /** Command, such as `bench staff`, and name of the scenario. */
  readonly command: string
  readonly scenario: string
  /** Key of the figure. */
  readonly figure: string
  /** Value of each round. */
  readonly values: readonly number[]
}

/** Values of one run, by scenario and figure. */
export type Measured = ReadonlyMap<string, Readonly<Record<string, Value>>>

/** Newest record of each figure. */
export class Records {
  readonly #newest = new Map<string, FigureRecord>()

  constructor(text = existsSync(FILE) ? readFileSync(FILE, 'utf8') : '') {
    for (const line of text.split('\n')) {
      if (line === '') continue
      const one: FigureRecord = JSON.parse(line)
      this.#newest.set(`${one.command} ${one.scenario} ${one.figure}`, one)
    }
  }

  /** Lines of a scenario with the commit of each; those that were never measured are not among them. */
  linesOf(command: string, { name, figures }: Pick<Scenario, 'name' | 'figures'>): (Line & { commit: string })[] {
    return Object.entries<Figure>(figures).flatMap(([key, figure]) => {
      const found = this.#newest.get(`${command} ${name} ${key}`)
      return found === undefined ? [] : [{ ...lineOf(figure, found.values, false), commit: found.commit }]
    })
  }
}

/** Commit of this checkout. Throws if something is not committed: the figures would be those of no commit. */
export function cleanCommit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' })
  const changed = git('status', '--porcelain')
    .split('\n')
    .filter((line) => line !== '' && !OWN.some((path) => line.endsWith(path)))
  if (changed.length > 0) throw new Error(`commit your changes before --record: ${changed.join(', ')}`)
  return git('rev-parse', '--short=7', 'HEAD').trim()
}

/** Appends the figures of a run to the file. */
export function addRecords(command: string, commit: string, measured: Measured): void {
  const all = cpus()
  const about = { date: new Date().toISOString().slice(0, 10), commit, machine: `${all.length} x ${all[0]?.model}` }
  for (const [scenario, values] of measured)
    for (const [figure, value] of Object.entries(values)) {
      if (value === null) continue
      const record: FigureRecord = { ...about, command, scenario, figure, values: [value].flat().map(rounded) }
      appendFileSync(FILE, `${JSON.stringify(record)}\n`)
    }
}

/** Four significant digits, which no figure is more precise than. */
function rounded(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(4))
}
