import type { CartRule } from './rule.ts'

const NONE: readonly string[] = []

/** Opens for each plan by which a service of the cart is due, as the service book last judged it. */
export const SERVICE_DUE: CartRule = {
  kind: 'service_due',
  brake: null,
  subjectsOf: ({ cart }, { course }) => course.dueServices(cart.key)?.map(({ plan_id }) => plan_id) ?? NONE,
  evaluate({ cart }, { course }, _open, planId) {
    const due = course.dueServices(cart.key)
    if (due === null) return 'unsure'
    return due.some(({ plan_id }) => plan_id === planId) ? 'holds' : 'over'
  },
  describe: ({ cart }, { course }, planId) => {
    const plan = course.dueServices(cart.key)?.find(({ plan_id }) => plan_id === planId)
    return { hardwareId: null, details: { plan_id: planId, name: plan?.name ?? '' } }
  },
}
