import { ForkedScript } from '../calls.ts'
import type { Workbench } from '../processes.ts'
import type { AttackFunctions } from './generator.ts'

/** Starts a process of a noisy client, which waits for a plan. */
export function startNeighbour(bench: Workbench): ForkedScript<AttackFunctions> {
  return new ForkedScript(bench, new URL('./generator.ts', import.meta.url))
}
