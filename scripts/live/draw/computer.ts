import { createRandom, type Random } from '#shared/random.ts'
import { localToMs } from '../model/local-time.ts'
import type { Entry, Mood, Undrawn } from '../plan.ts'
import type { DiskFault } from '../world/disk.ts'
import { countOf, DAY_MS, MINUTE_MS } from './rates.ts'

interface DiskRates {
  /** A day. */
  readonly powerCuts: number
  readonly fills: number
  readonly bad: number
}

const DISK_FAULTS: Readonly<Record<Mood, DiskRates>> = {
  quiet: { powerCuts: 0, fills: 0, bad: 0 },
  ordinary: { powerCuts: 0.5, fills: 0.2, bad: 0.2 },
  hard: { powerCuts: 6, fills: 1, bad: 3 },
}
/** Half of the power cuts are within some changes, the others within a checkpoint of the log. */
const FEW_CHANGES = 30
const MANY_CHANGES = 4_000

export function diskDay({ seed, mood }: Undrawn, date: string): Entry[] {
  const random = createRandom(seed, 'disk', date)
  const rates = DISK_FAULTS[mood]
  const any = () => localToMs(date, 0) + Math.round(random.next() * DAY_MS)
  const draw = (rate: number, entry: () => Entry) => Array.from({ length: countOf(rate, random.next()) }, entry)
  return [
    ...draw(rates.powerCuts, () => ({
      atMs: any(),
      kind: 'powercut',
      changes: random.integer(0, random.chance(0.5) ? FEW_CHANGES : MANY_CHANGES),
      kept: random.pick(['some', 'some', 'none', 'all'] as const),
      seed: random.integer(0, 2 ** 31),
      downMs: random.integer(2_000, random.chance(0.2) ? 20 * MINUTE_MS : 60_000),
    })),
    ...draw(rates.fills, () => ({
      atMs: any(),
      kind: 'fill',
      nearMs: random.integer(MINUTE_MS, 60 * MINUTE_MS),
      fullMs: random.integer(10_000, random.chance(0.3) ? 120 * MINUTE_MS : 20 * MINUTE_MS),
    })),
    ...draw(rates.bad, () => ({
      atMs: any(),
      kind: 'baddisk',
      fault: random.pick<DiskFault>([{ write: 'EIO' }, { sync: 'EIO' }, { read: 'EIO' }]),
      forMs: random.integer(1_000, 10 * MINUTE_MS),
    })),
  ]
}

/** Draws the faults of the computer: its disk for backups and its clock. */
export function hostDay({ seed, mood }: Undrawn, date: string): Entry[] {
  const random = createRandom(seed, 'host', date)
  const rate = { quiet: 0, ordinary: 0.5, hard: 1 }[mood]
  const at = (hour: number) => localToMs(date, 0) + Math.round(hour * 60 * MINUTE_MS)
  const entries: Entry[] = []
  const [turns, downMs] = [random.integer(0, 600), random.integer(1_000, 20_000)]
  if (random.chance(0.6 * rate)) entries.push({ atMs: at(0.02), kind: 'backup-kill', turns, downMs })
  const fault = random.pick(['gone', 'full'] as const)
  const forMs = Math.round(random.between(0.5, 60) * 60 * MINUTE_MS)
  if (random.chance(0.3 * rate)) entries.push({ atMs: at(random.between(0, 24)), kind: 'stick', fault, forMs })
  if (random.chance(0.3 * rate))
    entries.push({ atMs: at(random.between(0, 24)), kind: 'authority', forMs: random.integer(1, 300) * MINUTE_MS })
  if (!random.chance(0.9 * rate)) return entries
  const atMs = at(random.between(0.1, 18))
  if (random.chance(0.5)) entries.push({ atMs: atMs - 1_000, kind: 'restart', downMs: random.integer(2_000, 60_000) })
  entries.push({ atMs, kind: 'clock', offMs: random.chance(0.2) ? null : wrongMs(random) })
  const by = random.pick(['system', 'hardware', 'admin', 'hand'] as const)
  entries.push({ atMs: atMs + random.integer(1, 300) * MINUTE_MS, kind: 'clock-right', by })
  return entries
}

/**
 * An error from an hour to months, ahead or behind: a start does not notice one that is as far behind as the gateway
 * was off, which is 40 minutes at most.
 */
function wrongMs(random: Random): number {
  const sizes = [
    random.integer(65, 119) * MINUTE_MS,
    random.integer(1, 12) * 60 * MINUTE_MS,
    random.integer(1, 25) * DAY_MS,
    random.integer(40, 300) * DAY_MS,
  ] as const
  return (random.chance(0.5) ? 1 : -1) * random.pick(sizes) + random.integer(0, 999)
}
