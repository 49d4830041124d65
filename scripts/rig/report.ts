import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Line of the closing summary; `passed` is null if it is not judged. */
export interface Line {
  name: string
  target: string
  reached: string
  passed: boolean | null
}

/** Prints the figures of a scenario; the first column is aligned to the left, the others to the right. */
export function printLines(scenario: string, figures: readonly Line[]): void {
  const header = ['figure', 'target', 'reached', '']
  const rows = figures.map(({ name, target, reached, passed }) => {
    const verdict = passed === null ? '' : passed ? 'pass' : 'MISS'
    return [name, target, reached, verdict]
  })
  const widths = header.map((_, i) => Math.max(...[header, ...rows].map((row) => (row[i] ?? '').length)))
  const line = (row: readonly string[]) =>
    widths.map((width, i) => (i === 0 ? (row[i] ?? '').padEnd(width) : (row[i] ?? '').padStart(width))).join('  ')
  const rule = widths.map((width) => '-'.repeat(width)).join('  ')
  process.stdout.write(`\n${scenario}\n\n${[line(header), rule, ...rows.map(line)].join('\n')}\n`)
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
