import type { PacePartyJson } from '#shared/wire/rounds.ts'

/** Signs of parties: `late` makes others wait, `behind` is delayed or late, `between` is on no hole. */
export type Pace = 'late' | 'behind' | 'on time' | 'between'

export function paceOf({ cause, current_hole: hole }: PacePartyJson): Pace {
  if (cause === 'delays_others') return 'late'
  if (cause !== 'on_pace') return 'behind'
  return hole === null ? 'between' : 'on time'
}
