import type { RoundJson } from '#shared/wire/rounds.ts'

/** Carts that apparently play together: they began on the same hole and reached the current one together. */
export interface PlayingGroup {
  /** Key of its first cart. */
  key: string
  carts: readonly string[]
  /** Round of the cart that is furthest behind. */
  round: RoundJson
}

/** Pace of a group; `between` is on no hole. */
export type Pace = 'late' | 'behind' | 'on time' | 'between'

/** Maximum difference between the tee-off times, and between the move-on times, of carts in a group. */
const TOGETHER_MS = 4 * 60_000

/** Returns the groups of the active rounds, those furthest behind first; those on no hole come last. */
export function playingGroupsOf(rounds: readonly RoundJson[]): PlayingGroup[] {
  const groups: RoundJson[][] = []
  for (const round of rounds) {
    const group = groups.find(([first]) => first !== undefined && areTogether(first, round))
    if (group === undefined) groups.push([round])
    else group.push(round)
  }
  return groups
    .flatMap((group) => {
      const [round] = group.toSorted(byWorst)
      return round === undefined ? [] : [{ key: round.round_id, carts: group.map(({ cart }) => cart), round }]
    })
    .sort((a, b) => byWorst(a.round, b.round))
}

/** Late means a whole hole behind. */
export function paceOf({ minutes_behind: behind }: RoundJson, minutesPerHole: number): Pace {
  if (behind === null) return 'between'
  if (behind >= minutesPerHole) return 'late'
  return behind >= 1 ? 'behind' : 'on time'
}

/** Returns the time at which the cart reached its current hole. */
export function onHoleSince({ holes }: RoundJson): string | null {
  return holes.find(({ left_at }) => left_at === null)?.entered_at ?? null
}

/** Returns the expected end of the round if play continues at the site's pace; null once all holes were played. */
export function finishMs(
  { holes }: RoundJson,
  { holesOfCourse, minutesPerHole, nowMs }: { holesOfCourse: number; minutesPerHole: number; nowMs: number },
): number | null {
  const left = holesOfCourse - holes.filter(({ left_at }) => left_at !== null).length
  return left <= 0 ? null : nowMs + left * minutesPerHole * 60_000
}

function areTogether(one: RoundJson, other: RoundJson): boolean {
  const sinceMs = (at: string | null | undefined) => (at == null ? 0 : Date.parse(at))
  const isNear = (a: string | null | undefined, b: string | null | undefined) =>
    Math.abs(sinceMs(a) - sinceMs(b)) <= TOGETHER_MS
  return (
    one.start_hole === other.start_hole &&
    one.current_hole === other.current_hole &&
    isNear(one.holes[0]?.entered_at, other.holes[0]?.entered_at) &&
    isNear(onHoleSince(one), onHoleSince(other))
  )
}

function byWorst(a: RoundJson, b: RoundJson): number {
  const worse = (b.minutes_behind ?? Number.NEGATIVE_INFINITY) - (a.minutes_behind ?? Number.NEGATIVE_INFINITY)
  return Number.isNaN(worse) || worse === 0 ? Date.parse(a.started_at) - Date.parse(b.started_at) : worse
}
