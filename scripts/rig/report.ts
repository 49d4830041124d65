import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Line of the closing summary; `passed` is null if it is not judged. */
export interface Line {
  name: string
  target: string
  reached: string
  passed: boolean | null
}
export type Figure = Line

/** Prints a table; the first column is text, the others are aligned to the right. */
export function printTable(title: string, header: readonly string[], rows: readonly (readonly string[])[]): void {
  const all = [header, ...rows]
  const widths = header.map((_, i) => Math.max(...all.map((row) => (row[i] ?? '').length)))
  const line = (row: readonly string[]) =>
    widths.map((width, i) => (i === 0 ? (row[i] ?? '').padEnd(width) : (row[i] ?? '').padStart(width))).join('  ')
  const rule = widths.map((width) => '-'.repeat(width)).join('  ')
  process.stdout.write(`\n${title}\n\n${[line(header), rule, ...rows.map(line)].join('\n')}\n`)
}

/** A figure that must be 0. */
export function noneOf(name: string, count: number): Figure {
  return { name, target: '0', reached: formatCount(count), passed: count === 0 }
}

interface TargetOptions {
  /** Follows the numbers, its space included. */
  unit?: string
  digits?: number
  /** Inputs of the value; printed in brackets. */
  detail?: string
  /** False in a run that is too short for a target. */
  isJudged?: boolean
}

/** A figure that must be less than `limit`. */
export function below(name: string, value: number, limit: number, options: TargetOptions = {}): Figure {
  return withTarget(name, value, `< ${limit.toLocaleString('en-US')}`, value < limit, options)
}

export function atLeast(name: string, value: number, limit: number, options: TargetOptions = {}): Figure {
  return withTarget(name, value, `>= ${limit.toLocaleString('en-US')}`, value >= limit, options)
}

function withTarget(
  name: string,
  value: number,
  target: string,
  isMet: boolean,
  { unit = '', digits = 0, detail, isJudged = true }: TargetOptions,
): Figure {
  const written = digits === 0 ? formatCount(value) : value.toFixed(digits)
  const reached = `${written}${unit}${detail === undefined ? '' : ` (${detail})`}`
  return { name, target: `${target}${unit}`, reached, passed: isJudged ? isMet : null }
}

/** A figure without a target. */
export function withoutTarget(name: string, reached: string): Figure {
  return { name, target: '', reached, passed: null }
}

/** Prints the figures of a scenario. */
export function printLines(scenario: string, figures: readonly Line[]): void {
  const rows = figures.map(({ name, target, reached, passed }) => {
    const verdict = passed === null ? '' : passed ? 'pass' : 'MISS'
    return [name, target, reached, verdict]
  })
  printTable(scenario, ['figure', 'target', 'reached', ''], rows)
}

/** Writes the results of a program; returns true if every target was met. */
export function conclude(program: string, figures: readonly Line[], raw: unknown): boolean {
  const path = writeResults(program, { takenAt: new Date().toISOString(), figures, raw })
  printProgress(`\nresults in ${path}`)
  return figures.every((figure) => figure.passed !== false)
}

export function printProgress(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Writes results to bench-results/ of the current folder; returns the path. */
function writeResults(name: string, results: unknown): string {
  const folder = 'bench-results'
  mkdirSync(folder, { recursive: true })
  const stamp = new Date().toISOString().replaceAll(':', '-').slice(0, 23)
  const path = join(folder, `${name}-${stamp}.json`)
  writeFileSync(path, `${JSON.stringify(results, null, 2)}\n`)
  return path
}

/** Milliseconds with one decimal. */
export function formatMs(ms: number): string {
  return ms.toFixed(1)
}

/** Bytes as megabytes, with one decimal. */
export function formatMb(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}

/** A whole number with separators. */
export function formatCount(count: number): string {
  return Math.round(count).toLocaleString('en-US')
}

/** Middle value; 0 of nothing. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2
}
