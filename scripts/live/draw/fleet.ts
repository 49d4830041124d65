import { createRandom } from '#shared/random.ts'
import type { JourneyKind } from '../model/journey.ts'
import { CLOSES_MINUTE, localToMs } from '../model/local-time.ts'
import type { Entry, Mood, Undrawn } from '../plan.ts'
import { countOf, DAY_MS, MINUTE_MS } from './rates.ts'

interface FaultRates {
  /** A day. */
  readonly kills: number
  readonly writeKills: number
  readonly restarts: number
  readonly slow: number
  readonly rushes: number
  /** A day and cart. */
  readonly shadows: number
}

const FAULTS: Readonly<Record<Mood, FaultRates>> = {
  quiet: { kills: 0, writeKills: 0, restarts: 0, slow: 0, rushes: 0, shadows: 0 },
  ordinary: { kills: 1, writeKills: 1, restarts: 0.2, slow: 2, rushes: 1, shadows: 2 },
  hard: { kills: 12, writeKills: 24, restarts: 2, slow: 12, rushes: 4, shadows: 6 },
}

export function cartDay({ seed, mood }: Undrawn, date: string, cart: number): Entry[] {
  const random = createRandom(seed, 'cart', cart, date)
  const at = (hour: number) => localToMs(date, 0) + Math.round(hour * 60 * MINUTE_MS)
  const entries: Entry[] = [{ atMs: at(random.between(5.5, 6.5)), kind: 'wake', cart }]
  const journey = (): JourneyKind =>
    random.chance(0.1) ? (random.chance(0.5) ? 'away' : 'pond') : random.chance(0.3) ? 'nine' : 'round'
  if (random.chance(0.85))
    entries.push({
      atMs: at(random.between(7, 11)),
      kind: 'drive',
      cart,
      journey: journey(),
      pace: random.between(0.8, 1.2),
    })
  if (random.chance(0.5))
    entries.push({
      atMs: at(random.between(13, 16)),
      kind: 'drive',
      cart,
      journey: journey(),
      pace: random.between(0.8, 1.2),
    })
  // a lock at the wrong moment, and an unlock shortly before closing time
  const drive = entries.find(({ kind }) => kind === 'drive')
  if (drive !== undefined && random.chance(0.3))
    entries.push({ atMs: drive.atMs + random.integer(8_000, 35_000), kind: 'command', cart, command: 'lock' })
  if (random.chance(0.2))
    entries.push({ atMs: at(random.between(21.3, 21.45)), kind: 'command', cart, command: 'unlock' })
  for (let i = 0; i < 2; i++) {
    const command = random.pick(['lock', 'unlock', 'locate'] as const)
    entries.push({ atMs: at(random.between(7, 20)), kind: 'command', cart, command })
  }
  // staff unlock it where it is parked, and again after it was locked automatically
  if (random.chance(0.25)) {
    const atMs = at(random.pick([random.between(6.6, 7), random.between(11.5, 13), random.between(17, 20)]))
    const unlock = { kind: 'command', cart, command: 'unlock' } as const
    entries.push({ atMs, ...unlock }, { atMs: atMs + random.integer(11, 25) * MINUTE_MS, ...unlock })
  }
  const { shadows } = FAULTS[mood]
  for (let i = countOf(shadows, random.next()); i > 0; i--)
    entries.push({
      atMs: at(random.between(7, 20)),
      kind: 'shadow',
      cart,
      forMs: Math.round(random.between(10_000, 40 * MINUTE_MS)),
    })
  // its device fails in the middle of a round
  if (drive !== undefined && random.chance({ quiet: 0, ordinary: 0.01, hard: 0.3 }[mood]))
    entries.push({
      atMs: drive.atMs + random.integer(15, 55) * MINUTE_MS,
      kind: 'shadow',
      cart,
      forMs: random.integer(250, 420) * MINUTE_MS,
    })
  // every third device has a charger of its own and stays awake
  if (cart % 3 !== 0) entries.push({ atMs: at(random.between(22, 22.9)), kind: 'sleep', cart })
  if (random.chance(0.1)) {
    const atMs = at(random.between(12, 13))
    entries.push({ atMs, kind: 'unplug', cart }, { atMs: atMs + random.integer(1, 2) * DAY_MS, kind: 'plug', cart })
  }
  if (random.chance(0.02))
    entries.push({ atMs: at(random.between(1, 2.5)), kind: 'drive', cart, journey: 'night', pace: 1 })
  // one is fetched around midnight
  if (random.chance(0.15))
    entries.push({ atMs: at(random.between(23.2, 23.9)), kind: 'drive', cart, journey: 'night', pace: 1 })
  return entries
}

export function courseDay({ seed, mood }: Undrawn, date: string): Entry[] {
  const random = createRandom(seed, 'course', date)
  const rates = FAULTS[mood]
  const any = () => localToMs(date, 0) + Math.round(random.next() * DAY_MS)
  const draw = (rate: number, entry: () => Entry) => Array.from({ length: countOf(rate, random.next()) }, entry)
  return [
    ...draw(30, () => ({ atMs: any(), kind: 'calls', count: random.integer(1, 20) })),
    ...draw(rates.kills, () => ({
      atMs: any(),
      kind: 'kill',
      turns: random.integer(0, 400),
      downMs: random.integer(1_000, random.chance(0.2) ? 20 * MINUTE_MS : 30_000),
    })),
    ...draw(rates.writeKills, () => ({
      atMs: any(),
      kind: 'write-kill',
      turns: random.integer(0, 12),
      downMs: random.integer(1_000, 20_000),
    })),
    ...draw(rates.restarts, () => ({ atMs: any(), kind: 'restart', downMs: random.integer(1_000, 60_000) })),
    ...draw(rates.slow, () => ({
      atMs: any(),
      kind: 'slow',
      delayMs: random.integer(5, 400),
      forMs: random.integer(10_000, 10 * MINUTE_MS),
    })),
    // at closing time, when many carts are locked together
    ...draw(rates.slow / 12, () => ({
      atMs: localToMs(date, CLOSES_MINUTE) - random.integer(0, 5_000),
      kind: 'slow',
      delayMs: random.integer(1_000, 3_000),
      forMs: 20_000,
    })),
    ...draw(rates.rushes, () => ({ atMs: any(), kind: 'rush' })),
  ]
}

/** Locks of carts that have lost their signal a minute before, so that the gateway must locate them first. */
export function locksDay({ seed, mood, carts }: Undrawn, date: string): Entry[] {
  if (mood === 'quiet') return []
  const random = createRandom(seed, 'locks', date)
  return Array.from({ length: Math.ceil(carts / 3) }, () => {
    const cart = random.integer(1, carts)
    const atMs = localToMs(date, 0) + Math.round(random.between(8, 17) * 60 * MINUTE_MS)
    const lockMs = atMs + random.integer(62_000, 80_000)
    return [
      { atMs, kind: 'shadow' as const, cart, forMs: random.integer(85_000, 300_000) },
      { atMs: lockMs, kind: 'command' as const, cart, command: 'lock' as const },
    ]
  }).flat()
}

/** Commands to carts that have just lost their signal, and return in time or late; some outlive a kill. */
export function lostCommandsDay({ seed, mood, carts }: Undrawn, date: string): Entry[] {
  if (mood === 'quiet') return []
  const random = createRandom(seed, 'lost commands', date)
  return Array.from({ length: Math.ceil(carts / (mood === 'hard' ? 1 : 4)) }, () => {
    const cart = random.integer(1, carts)
    const atMs = localToMs(date, 0) + Math.round(random.between(7, 20) * 60 * MINUTE_MS)
    const command = random.pick(['unlock', 'locate'] as const)
    const entries: Entry[] = [
      { atMs, kind: 'shadow', cart, forMs: random.integer(5_000, 150_000) },
      { atMs: atMs + random.integer(100, 4_000), kind: 'command', cart, command },
    ]
    const kill = { turns: random.integer(0, 100), downMs: random.integer(1_000, 10_000) }
    if (random.chance(mood === 'hard' ? 0.5 : 0.1))
      entries.push({ atMs: atMs + random.integer(5_000, 30_000), kind: 'kill', ...kill })
    // or the disk refuses the end of its time
    else if (random.chance(mood === 'hard' ? 0.4 : 0.02)) {
      const overMs = atMs + (command === 'unlock' ? 60_000 : 120_000)
      const [fault, forMs] = [{ write: 'EIO' } as const, random.integer(4_000, 15_000)]
      entries.push({ atMs: overMs - random.integer(500, 3_000), kind: 'baddisk', fault, forMs })
    }
    return entries
  }).flat()
}
