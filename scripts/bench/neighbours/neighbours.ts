import { NEIGHBOURS } from '#scripts/rig/neighbours/attacks.ts'
import type { Scenario, ScenarioContext } from '#scripts/rig/scenario.ts'
import { CourseEnvironment, SharedCourse } from './course-environment.ts'
import { HUB_NEIGHBOURS } from './hub-attacks.ts'
import { HubEnvironment, SharedHub } from './hub-environment.ts'
import { type Environment, measureNeighbour } from './run.ts'

/** Scenarios of careless or hostile clients, one for each kind that the audit found, and their cost for all others. */
export function createNeighbourScenarios(): Scenario[] {
  let course: SharedCourse | undefined
  let hub: SharedHub | undefined
  const scenario = (
    { name, summary }: { name: string; summary: string },
    createEnvironment: (context: ScenarioContext) => Environment,
  ): Scenario => ({
    name,
    summary,
    run: (context) => measureNeighbour(name, context, createEnvironment(context)),
  })
  return [
    ...NEIGHBOURS.map((neighbour) =>
      scenario(neighbour, (context) => {
        course ??= new SharedCourse(context)
        return new CourseEnvironment(context, course, neighbour)
      }),
    ),
    ...HUB_NEIGHBOURS.map((neighbour) =>
      scenario(neighbour, (context) => {
        hub ??= new SharedHub(context)
        return new HubEnvironment(context, hub, neighbour)
      }),
    ),
  ]
}
