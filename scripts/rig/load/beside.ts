import { type Figure, none } from '../figures.ts'
import type { LoadResult } from './plan.ts'
import type { LoadProcess } from './process.ts'

/** The same load alone, and together with something that may disturb it. */
export interface LoadPair {
  alone: LoadResult
  beside: LoadResult
}

/** Messages that were not acknowledged, or not even sent because a device's buffer was full. */
export function countLost(results: readonly LoadResult[]): number {
  return results.reduce((sum, { sent, acknowledged, skipped }) => sum + sent - acknowledged + skipped, 0)
}

/** Measures a load alone, then another one while `work` runs. */
export async function measurePair(start: () => LoadProcess, work: () => Promise<void>): Promise<LoadPair> {
  const alone = await start().result()
  const running = start()
  await running.measuring()
  await work()
  return { alone, beside: await running.result() }
}

/** Figures of the effect on other devices; `others` names them. */
export function pairFigures(others: string, mostRatio: number): Record<keyof ReturnType<typeof pairValues>, Figure> {
  return {
    p99Alone: { what: `PUBACK p99 of ${others} alone`, unit: ' ms', digits: 1 },
    p99Ratio: { what: `PUBACK p99 of ${others}, disturbed : alone`, target: ['<=', mostRatio], digits: 2 },
    lost: none(`messages of ${others} lost`),
  }
}

/** Values of these figures. */
export function pairValues(pairs: readonly LoadPair[]) {
  const p99Ms = ({ measured }: LoadResult) => measured.sinceWrite.p99Ms
  return {
    p99Alone: pairs.map(({ alone }) => p99Ms(alone)),
    p99Ratio: pairs.map(({ alone, beside }) => p99Ms(beside) / p99Ms(alone)),
    lost: countLost(pairs.flatMap(({ alone, beside }) => [alone, beside])),
  }
}
