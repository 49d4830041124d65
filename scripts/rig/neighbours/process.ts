import { ForkedScript } from '../calls.ts'
import type { Workbench } from '../processes.ts'
import type { AttackFunctions } from './generator.ts'

/** A process of a neighbour, which does nothing until it is told a plan. */
export function startNeighbour(bench: Workbench): ForkedScript<AttackFunctions> {
  return new ForkedScript(bench, 'neighbour', new URL('./generator.ts', import.meta.url))
}
