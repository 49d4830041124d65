import { isoOrNull } from '#shared/time.ts'
import type { CartRule } from './rule.ts'

/** Nobody hears of it, and it is not in the barn. */
export const SILENT_ON_COURSE: CartRule = {
  kind: 'silent_on_course',
  brake: null,
  judge({ cart: { verdict, ground, said } }, _ground, open) {
    const { state, isInParking, heardAtMs } = verdict
    if (isInParking) return 'over'
    if (state === 'silent') {
      // where no barn is known, one that went to sleep may well be in it
      return !ground.hasParking && said.some(({ saidSleep }) => saidSleep) ? 'unsure' : 'holds'
    }
    // after a start nobody is silent for a while, and nobody was heard either
    const saidMs = Date.parse(String(open?.details.last_heard_at))
    return heardAtMs !== null && (Number.isNaN(saidMs) || heardAtMs > saidMs) ? 'over' : 'unsure'
  },
  tell: ({ cart: { verdict } }) => ({
    hardwareId: verdict.position?.hardwareId ?? null,
    details: { last_heard_at: isoOrNull(verdict.heardAtMs) },
  }),
}
