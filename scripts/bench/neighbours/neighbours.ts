import { NEIGHBOURS } from '#scripts/rig/neighbours/attacks.ts'
import type { Scenario, ScenarioContext } from '#scripts/rig/scenario.ts'
import { CourseGround, SharedCourse } from './course-ground.ts'
import { HUB_NEIGHBOURS } from './hub-attacks.ts'
import { HubGround, SharedHub } from './hub-ground.ts'
import { type Ground, measureNeighbour } from './run.ts'

/** Scenarios of careless or hostile clients, one for each kind that the audit found, and their cost for all others. */
export function createNeighbourScenarios(): Scenario[] {
  let course: SharedCourse | undefined
  let hub: SharedHub | undefined
  const scenario = (
    { name, summary }: { name: string; summary: string },
    ground: (context: ScenarioContext) => Ground,
  ): Scenario => ({
    name,
    summary,
    run: (context) => measureNeighbour(name, context, ground(context)),
  })
  return [
    ...NEIGHBOURS.map((neighbour) =>
      scenario(neighbour, (context) => {
        course ??= new SharedCourse(context)
        return new CourseGround(context, course, neighbour)
      }),
    ),
    ...HUB_NEIGHBOURS.map((neighbour) =>
      scenario(neighbour, (context) => {
        hub ??= new SharedHub(context)
        return new HubGround(context, hub, neighbour)
      }),
    ),
  ]
}
