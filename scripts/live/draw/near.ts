import { createRandom } from '#shared/random.ts'
import { localToMs } from '../model/local-time.ts'
import type { Entry, Mood, Undrawn } from '../plan.ts'
import type { DiskFault } from '../world/disk.ts'
import { countOf, DAY_MS } from './rates.ts'

/** Faults a day that follow an act of staff, of a driver or of a program. */
const RATES: Readonly<Record<Mood, number>> = { quiet: 0, ordinary: 1, hard: 16 }
const WRITE_FAULTS: Readonly<Record<Mood, number>> = { quiet: 0, ordinary: 0.5, hard: 12 }
const REFUSING: readonly [DiskFault, ...DiskFault[]] = [{ write: 'EIO' }, { sync: 'EIO' }]
const ACTS: ReadonlySet<Entry['kind']> = new Set([
  'command',
  'alert',
  'pin',
  'act',
  'leave',
  'revoke',
  'rights',
  'switch',
  'exempt',
  'recall',
  'guest',
  'mortal',
  'away',
  'intent',
])

/** Draws faults around the acts of a day: half of such an act may be done then, or it is refused. */
export function nearDay({ seed, mood }: Undrawn, date: string, entries: readonly Entry[]): Entry[] {
  const acts = entries.filter(({ kind }) => ACTS.has(kind))
  const random = createRandom(seed, 'near', date)
  return Array.from({ length: countOf(RATES[mood], random.next()) }, (): Entry[] => {
    const act = acts[random.integer(0, acts.length - 1)]
    if (act === undefined) return []
    const kill = (atMs: number): Entry => {
      return { atMs, kind: 'kill', turns: random.integer(0, 60), downMs: random.integer(1_000, 10_000) }
    }
    const afterMs = random.integer(0, random.chance(0.5) ? 500 : 60_000)
    if (random.chance(0.6)) return [kill(act.atMs + afterMs)]
    const fault = random.pick(REFUSING)
    const isBefore = random.chance(0.5)
    const [atMs, forMs] = [act.atMs + (isBefore ? -1 : afterMs), random.integer(500, 40_000)]
    const bad: Entry = { atMs, kind: 'baddisk', fault, forMs }
    // what it shows after that must also be stored
    return [bad, kill(atMs + forMs + random.integer(90_000, 150_000))]
  }).flat()
}

/** Draws disks that fail at writes: refused, each kind of write leaves something else half done. */
export function writeFaultsDay({ seed, mood }: Undrawn, date: string): Entry[] {
  const random = createRandom(seed, 'write faults', date)
  return Array.from({ length: countOf(WRITE_FAULTS[mood], random.next()) }, () => ({
    atMs: localToMs(date, 0) + Math.round(random.next() * DAY_MS),
    kind: 'write-fault',
    fault: random.pick(REFUSING),
    forMs: random.integer(200, 20_000),
  }))
}
