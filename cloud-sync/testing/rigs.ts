import type { TestContext } from 'node:test'
import { AgentRig, type RigOptions } from './agent-rig.ts'

/** An agent and its hub, which end with the test. */
export async function startRig(t: TestContext, options: RigOptions = {}): Promise<AgentRig> {
  const rig = new AgentRig(options)
  t.after(() => rig.stop())
  return rig.start()
}
