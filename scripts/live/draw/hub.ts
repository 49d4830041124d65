import { createRandom } from '#shared/random.ts'
import { localToMs } from '../model/local-time.ts'
import type { Entry, Mood, Undrawn } from '../plan.ts'
import { countOf, MINUTE_MS } from './rates.ts'

/** Faults a day between a gateway and its hub. */
const HUB_RATES: Readonly<Record<Mood, Readonly<Record<'kills' | 'cuts' | 'outages' | 'slow' | 'faults', number>>>> = {
  quiet: { kills: 0, cuts: 0, outages: 0, slow: 0, faults: 0 },
  ordinary: { kills: 1, cuts: 2, outages: 0.3, slow: 1, faults: 0.5 },
  hard: { kills: 8, cuts: 8, outages: 1, slow: 8, faults: 3 },
}

export function hubDay({ seed, mood, carts, hub = 'none' }: Undrawn, date: string): Entry[] {
  if (hub === 'none') return []
  const random = createRandom(seed, 'hub', date)
  const rates = HUB_RATES[mood]
  const at = (hour: number) => localToMs(date, 0) + Math.round(hour * 60 * MINUTE_MS)
  const any = () => at(random.between(0, 24))
  const some = (minutes: number) => Math.round(random.between(0.1, minutes) * MINUTE_MS)
  const draw = (rate: number, entry: () => Entry) => Array.from({ length: countOf(rate, random.next()) }, entry)
  const entries: Entry[] = [
    ...draw(mood === 'hard' ? 40 : 20, () => ({
      atMs: at(random.between(5, 23)),
      kind: 'intent',
      device: random.integer(1, carts),
      wish: random.pick(['locate', 'lock', 'unlock', 'config', 'config', 'disable'] as const),
      expiresS: random.pick([5, 60, 120, 3600]),
    })),
    ...draw(rates.kills, () => ({
      atMs: any(),
      kind: 'hub-kill',
      turns: random.integer(0, 400),
      downMs: random.chance(0.3) ? some(20) : random.integer(1_000, 30_000),
    })),
    ...draw(rates.cuts, () => ({
      atMs: any(),
      kind: 'hub-cut',
      ends: random.pick(['client', 'server', 'both'] as const),
      forMs: random.chance(0.5) ? some(1) : some(30),
    })),
    ...draw(rates.outages, () => ({ atMs: any(), kind: 'hub-kill', turns: 0, downMs: some(300) })),
    ...draw(rates.slow, () => ({ atMs: any(), kind: 'hub-slow', delayMs: random.integer(1, 4_000), forMs: some(120) })),
    ...draw(rates.faults, () => ({
      atMs: any(),
      kind: 'hub-fault',
      fault: random.pick(['full', 'down'] as const),
      forMs: some(90),
    })),
  ]
  // while the line is cut, so that some arrive too late
  for (const { atMs } of entries.filter((entry) => entry.kind === 'hub-cut')) {
    const device = random.integer(1, carts)
    entries.push({ atMs: atMs + 5_000, kind: 'intent', device, wish: 'config', expiresS: random.pick([5, 60]) })
  }
  if (mood !== 'hard') return entries
  if (random.chance(0.5)) {
    const movedMs = at(random.between(9, 18))
    const to = random.pick(['home', 'confirmed'] as const)
    entries.push({ atMs: movedMs, kind: 'machine', to: 'other' }, { atMs: movedMs + some(40), kind: 'machine', to })
  }
  // by night, when the course loses little by it
  if (random.chance(0.5))
    entries.push(
      { atMs: at(random.between(3.2, 4.2)), kind: 'copy' },
      { atMs: at(random.between(4.3, 5.2)), kind: 'restore', isWhole: random.chance(0.5) },
    )
  return entries
}
