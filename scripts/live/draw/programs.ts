import { createRandom } from '#shared/random.ts'
import { localToMs } from '../model/local-time.ts'
import type { Away, Entry, Undrawn } from '../plan.ts'
import { countOf, DAY_MS, MINUTE_MS } from './rates.ts'

/** Programs on the broker. */
export function programsDay({ seed, mood }: Undrawn, date: string): Entry[] {
  const random = createRandom(seed, 'programs', date)
  const any = () => localToMs(date, 0) + Math.round(random.next() * DAY_MS)
  const draw = (rate: number, entry: () => Entry) => Array.from({ length: countOf(rate, random.next()) }, entry)
  const ways: [Away, ...Away[]] = mood === 'quiet' ? ['politely', 'abruptly'] : ['politely', 'abruptly', 'cut']
  const absence = () => ({
    turns: random.integer(0, 30),
    forMs: random.integer(500, random.chance(0.3) ? 40 * MINUTE_MS : 30_000),
  })
  const often = mood === 'hard' ? 80 : 30
  const night = localToMs(date, 5)
  return [
    ...draw(300, () => ({
      atMs: any(),
      kind: 'publish',
      publisher: random.integer(0, 1),
      count: random.integer(1, 8),
    })),
    ...draw(often, () => ({
      atMs: any(),
      kind: 'away',
      program: random.integer(0, 6),
      how: random.pick(ways),
      ...absence(),
    })),
    ...draw(often / 2, () => ({
      atMs: any(),
      kind: 'mortal',
      mortal: random.integer(0, 2),
      how: random.pick<Away | 'takeover'>(['takeover', ...ways]),
      ...absence(),
    })),
    // one that is away for hours: its will must stay deleted over kills
    ...draw(4, () => ({
      atMs: any(),
      kind: 'mortal',
      mortal: 3,
      how: 'politely',
      turns: 0,
      forMs: random.integer(60, 240) * MINUTE_MS,
    })),
    // a display that is off by night, and at times more messages than its queue holds
    { atMs: night, kind: 'away', program: 1, how: 'politely', turns: 0, forMs: 6 * 3_600_000 },
    ...draw(0.5, () => ({
      atMs: night + random.integer(1, 60) * MINUTE_MS,
      kind: 'publish',
      publisher: 0,
      count: 3_000,
    })),
  ]
}

/** Receivers of webhooks. */
export function receiversDay({ seed }: Undrawn, date: string): Entry[] {
  const random = createRandom(seed, 'receivers', date)
  const any = () => localToMs(date, 0) + Math.round(random.next() * DAY_MS)
  const draw = (rate: number, entry: () => Entry) => Array.from({ length: countOf(rate, random.next()) }, entry)
  return [
    ...draw(6, () => ({
      atMs: any(),
      kind: 'receiver',
      receiver: random.integer(1, 3),
      mode: random.pick(['refuse', 'hang', 'reset', 'away'] as const),
      forMs: random.integer(5_000, random.chance(0.3) ? 8 * 3_600_000 : 20 * MINUTE_MS),
    })),
    // one that is away for longer than messages are kept
    ...draw(0.3, () => ({ atMs: any(), kind: 'receiver', receiver: 4, mode: 'away', forMs: 30 * 3_600_000 })),
  ]
}
