import { createRandom, type Random } from '#shared/random.ts'
import { localToMs } from '../model/local-time.ts'
import type { Entry, OverrideEntry, TabletEntry, Undrawn } from '../plan.ts'
import { countOf, MINUTE_MS } from './rates.ts'

type TimedEntry = { readonly atMs: number } & TabletEntry

/** A day of four shared tablets, of their users (0 to 3) and of three people with PINs (4 to 6). */
export function tabletDay({ seed, mood }: Undrawn, date: string): Entry[] {
  const random = createRandom(seed, 'tablets', date)
  const at = (hour: number) => localToMs(date, 0) + Math.round(hour * 60 * MINUTE_MS)
  const any = () => at(random.between(0.2, 23.8))
  const faults = { quiet: 0, ordinary: 2, hard: 12 }[mood]
  const tablet = () => random.integer(0, 3)
  const draw = (rate: number, entries: () => Entry[]) =>
    Array.from({ length: countOf(rate, random.next()) }, entries).flat()
  const act = (atMs: number, one: number): TimedEntry => ({
    atMs,
    kind: 'act',
    tablet: one,
    how: random.pick(['command', 'socket', 'note']),
  })
  return [
    // a person signs in, works with pauses of which some are too long, and perhaps leaves
    ...draw(24, () => {
      const [one, person] = [tablet(), random.integer(0, 2)]
      let atMs = any()
      const work: TimedEntry[] = [{ atMs, kind: 'pin', tablet: one, person, isRight: random.chance(0.8) }]
      for (let i = random.integer(0, 4); i > 0; i--) {
        atMs += random.integer(5_000, 11 * MINUTE_MS)
        work.push(act(atMs, one))
      }
      if (random.chance(0.3)) work.push({ atMs: atMs + random.integer(1_000, 60_000), kind: 'leave', tablet: one })
      return work
    }),
    ...draw(8, () => [act(any(), tablet())]),
    // a person guesses PINs, on one tablet after the other
    ...draw(1.2, () => {
      const [startMs, person] = [at(random.between(3.5, 22)), random.integer(0, 2)]
      const gapMs = random.integer(5_000, 60_000)
      const rightAt = random.integer(6, 14)
      const tries = Array.from({ length: random.integer(24, 40) }, (_, i) => ({
        atMs: startMs + i * gapMs,
        kind: 'pin' as const,
        tablet: i % 4,
        person,
        isRight: i === rightAt,
      }))
      // the count must survive
      const downMs = random.integer(1_000, 20_000)
      const kill = {
        atMs: startMs + Math.round(10.5 * gapMs),
        kind: 'kill' as const,
        turns: random.integer(0, 50),
        downMs,
      }
      return mood === 'quiet' ? tries : [...tries, kill]
    }),
    // a person has forgotten the PIN, and remembers it too late
    ...draw(2.5, () => {
      const [startMs, one, person] = [any(), tablet(), random.integer(0, 2)]
      const gapMs = random.integer(3_000, 15_000)
      return Array.from({ length: random.integer(4, 8) }, (_, i, last = random.integer(3, 7)) => ({
        atMs: startMs + i * gapMs,
        kind: 'pin' as const,
        tablet: one,
        person,
        isRight: i >= last,
      }))
    }),
    // rights change, those of a person mostly while it acts
    ...draw(10, () => {
      const [atMs, user] = [any(), random.integer(0, 6)]
      const change = random.pick(['scope', 'role', 'codes', 'off', 'pin', 'pin'] as const)
      const entries: TimedEntry[] = [{ atMs, kind: 'rights', user, change }]
      if (change === 'off')
        entries.push({ atMs: atMs + random.integer(10_000, 30 * MINUTE_MS), kind: 'rights', user, change: 'on' })
      if (user >= 4)
        entries.push({
          atMs: atMs - random.integer(1_000, 9 * MINUTE_MS),
          kind: 'pin',
          tablet: tablet(),
          person: user - 4,
          isRight: true,
        })
      return entries
    }),
    ...draw(3, () => [{ atMs: any(), kind: random.pick(['revoke', 'rejoin'] as const), tablet: tablet() }]),
    ...draw(faults, () => {
      const which = random.pick(['client', 'server', 'both'] as const)
      return [{ atMs: any(), kind: 'line', tablet: tablet(), which, forMs: random.integer(1_000, 10 * MINUTE_MS) }]
    }),
    ...draw(faults / 2, () => [
      { atMs: any(), kind: 'stall', tablet: tablet(), forMs: random.integer(1_000, 10 * MINUTE_MS) },
    ]),
  ]
}

/** A day of zones, exemptions and recalls, and of three screens. */
export function overrideDay({ seed }: Undrawn, date: string): ({ readonly atMs: number } & OverrideEntry)[] {
  const random = createRandom(seed, 'overrides', date)
  const at = (hour: number) => localToMs(date, 0) + Math.round(hour * 60 * MINUTE_MS)
  const any = () => at(random.between(6, 22.5))
  const longMs = () => random.integer(10_000, random.chance(0.5) ? 10 * MINUTE_MS : 90 * MINUTE_MS)
  const forMs = () => (random.chance(0.15) ? null : random.chance(0.15) ? 0 : longMs())
  const draw = <One>(count: number, entry: () => One) => Array.from({ length: count }, entry)
  return [
    ...draw(16, () => ({
      atMs: any(),
      kind: 'switch' as const,
      zones: [0, 1, 2].filter((i) => i === 0 || random.chance(0.4)),
      by: random.pick(['ids', 'holes', 'types'] as const),
      forMs: forMs(),
    })),
    ...draw(10, () => ({ atMs: any(), kind: 'exempt' as const, screen: random.integer(0, 2), forMs: forMs() })),
    // one screen is off when it begins, another for a while in between
    ...draw(3, () => {
      const [atMs, forMs] = [any(), random.integer(20_000, 60 * MINUTE_MS)]
      const off = (sinceMs: number, screen: number) => ({
        atMs: sinceMs,
        kind: 'screen' as const,
        screen,
        offMs: 1_000 + Math.round(random.next() * 0.5 * forMs),
      })
      return [
        off(atMs - 500, random.integer(0, 1)),
        { atMs, kind: 'recall' as const, isBegin: true },
        off(atMs + Math.round(random.between(0.2, 0.4) * forMs), 2),
        { atMs: atMs + forMs, kind: 'recall' as const, isBegin: false },
      ]
    }).flat(),
    ...draw(10, () => ({
      atMs: any(),
      kind: 'screen' as const,
      screen: random.integer(0, 2),
      offMs: random.integer(1_000, 30 * MINUTE_MS),
    })),
  ]
}

/** Draws a guest, who is erased some hours later. */
export function guestDay({ seed, carts }: Undrawn, date: string): Entry[] {
  const random = createRandom(seed, 'guest', date)
  const atMs = localToMs(date, 0) + random.integer(6 * 60, 14 * 60) * MINUTE_MS
  return [
    { atMs, kind: 'guest', cart: random.integer(1, carts) },
    { atMs: atMs + random.integer(30, 480) * MINUTE_MS, kind: 'guest-leaves' },
  ]
}

/** Draws maps and photos of the course; a kill often interrupts one. */
export function greenkeeperDay({ seed, mood }: Undrawn, date: string): Entry[] {
  const random = createRandom(seed, 'greenkeeper', date)
  const maps = Array.from({ length: { quiet: 2, ordinary: 3, hard: 8 }[mood] }, () => {
    const atMs = localToMs(date, 0) + random.integer(60, 1_400) * MINUTE_MS
    const entry: Entry = random.chance(0.5)
      ? { atMs, kind: 'map', ways: random.pick([1, 1, 20] as const) }
      : { atMs, kind: 'photo', bytes: random.integer(1_000, 600_000) }
    const kill: Entry = { atMs, kind: 'kill', turns: random.integer(0, 60), downMs: random.integer(1_000, 20_000) }
    return mood !== 'quiet' && random.chance(0.4) ? [kill, entry] : [entry]
  }).flat()
  const redraw = () => localToMs(date, 0) + random.integer(7 * 60, 21 * 60) * MINUTE_MS
  return [...maps, { atMs: redraw(), kind: 'redraw' }, { atMs: redraw(), kind: 'redraw' }]
}

function drawKill(random: Random) {
  const downMs = random.integer(1_000, random.chance(0.4) ? 40 * MINUTE_MS : 20_000)
  return { afterMs: random.integer(0, 2 * MINUTE_MS), downMs }
}

/** Draws what staff do about the alerts that they find open, each after a time. */
export function alertDay({ seed, mood }: Undrawn, date: string): Entry[] {
  const random = createRandom(seed, 'alerts', date)
  return Array.from({ length: { quiet: 2, ordinary: 5, hard: 12 }[mood] }, () => ({
    atMs: localToMs(date, 0) + random.integer(1, 1_430) * MINUTE_MS,
    kind: 'alert',
    how: random.pick(['acknowledge', 'close'] as const),
    choice: random.integer(0, 999),
    kill: mood !== 'quiet' && random.chance(0.4) ? drawKill(random) : null,
  }))
}
