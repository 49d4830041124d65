import { type Bottle, type Check, type Finding, SAMPLE_DAYS } from '../bottle.ts'
import type { LiveCart } from '../model/cart.ts'
import type { DiaryDay } from '../model/diary.ts'
import { localToMs, nextDay, toLocal } from '../model/local-time.ts'

/** Two positions of a driving cart, and what a second of rounding adds. */
const TWO_FIXES_MS = 20_000
/** Metres that the positions at both ends of a trip may miss. */
const TRIP_M = 60
const HOUR_MS = 3_600_000

const days: Check = {
  number: 46,
  claim: 'rounds, trips, distances, times out and voltages of local days are those of the carts',
  when: 'night',
  async find(bottle) {
    // a night ends at three, a run at midnight
    const { date } = toLocal(bottle.time.nowMs - 4 * HOUR_MS)
    const [fromMs, toMs] = [localToMs(date, 0), localToMs(nextDay(date), 0)]
    if (toMs > bottle.time.nowMs || fromMs < bottle.time.startMs) return []
    return [
      ...(await rounds(bottle, fromMs, toMs)),
      ...(await trips(bottle, fromMs, toMs)),
      ...(await month(bottle, date)),
    ]
  },
}

export const dayChecks: readonly Check[] = [days]

function complete(bottle: Bottle): LiveCart[] {
  return bottle.carts.filter(({ isDrained }) => isDrained)
}

async function rounds(bottle: Bottle, fromMs: number, toMs: number): Promise<Finding[]> {
  const range = `from=${new Date(fromMs).toISOString()}&to=${new Date(toMs - 1).toISOString()}`
  const answer = await bottle.ask('GET', `/rounds?limit=1000&${range}`)
  if (answer === null) return []
  return complete(bottle).flatMap((cart) => {
    const shown = answer.body.rounds.filter((one: { cart: string }) => `cart-${one.cart}` === cart.hardwareId)
    const { outings } = cart.diary.day(toLocal(fromMs).date)
    const played = outings.filter(({ holes }) => holes.length > 0)
    const is = shown.map(
      (one: { started_at: string; ended_at: string | null; holes: { hole: number }[] }) =>
        `${one.started_at} to ${one.ended_at}: ${one.holes.map(({ hole }) => hole)}`,
    )
    const expected = played.map(
      ({ leavesMs, returnsMs, holes }) =>
        `${new Date(leavesMs).toISOString()} to ${new Date(returnsMs).toISOString()}: ${holes}`,
    )
    const isTrue =
      shown.length === played.length &&
      played.every(({ leavesMs, returnsMs, holes }, i) => {
        const { started_at: start, ended_at: end, holes: shownHoles } = shown[i]
        return (
          Math.abs(Date.parse(start) - leavesMs) < TWO_FIXES_MS &&
          Math.abs(Date.parse(end) - returnsMs) < TWO_FIXES_MS &&
          `${shownHoles.map(({ hole }: { hole: number }) => hole)}` === `${holes}`
        )
      })
    return isTrue ? [] : [{ subject: cart.hardwareId, is: `rounds ${is.join('; ')}`, expected: expected.join('; ') }]
  })
}

async function trips(bottle: Bottle, fromMs: number, toMs: number): Promise<Finding[]> {
  const range = `from=${new Date(fromMs).toISOString()}&to=${new Date(toMs - 1).toISOString()}`
  const found: Finding[] = []
  for (const cart of complete(bottle)) {
    const { outings } = cart.diary.day(toLocal(fromMs).date)
    // a drive through midnight is cut there
    if (outings.some(({ returnsMs }) => returnsMs > toMs)) continue
    const answer = await bottle.ask('GET', `/trips/${cart.hardwareId}?${range}`)
    if (answer === null) return found
    const is = answer.body.trips.map(({ distance }: { distance: number }) => distance)
    const expected = outings.flatMap((one) => one.trips)
    const isTrue = is.length === expected.length && expected.every((metres, i) => Math.abs(is[i] - metres) < TRIP_M)
    if (!isTrue) found.push({ subject: cart.hardwareId, is: `trips of ${is} m`, expected: `trips of ${expected} m` })
  }
  return found
}

/** Compares all days of a month up to `date`: those of weeks ago must not change. */
async function month(bottle: Bottle, date: string): Promise<Finding[]> {
  const query = `month=${date.slice(0, 7)}`
  const used = await bottle.ask('GET', `/reports/utilisation?${query}`)
  const packs = await bottle.ask('GET', `/reports/battery?${query}`)
  if (used === null || packs === null) return []
  const found: Finding[] = []
  for (const cart of complete(bottle))
    for (let day = firstDay(bottle, date); day <= date; day = nextDay(day)) {
      const ofDay = (one: { cart: string; date: string }) => `cart-${one.cart}` === cart.hardwareId && one.date === day
      const differences = compare(cart.diary.day(day), used.body.rows.filter(ofDay), packs.body.rows.filter(ofDay))
      for (const difference of differences)
        found.push({ subject: cart.hardwareId, ...difference, is: `${day}: ${difference.is}` })
    }
  return found
}

function firstDay({ time, isAging }: Bottle, date: string): string {
  const first = `${date.slice(0, 7)}-01`
  const start = toLocal(time.startMs).date
  const kept = toLocal(time.nowMs - (SAMPLE_DAYS - 1) * 24 * HOUR_MS).date
  return [first, start, ...(isAging ? [kept] : [])].toSorted().at(-1) ?? first
}

// rows of JSON
// biome-ignore lint/suspicious/noExplicitAny: see above
function compare(day: DiaryDay, used: any[], packs: any[]): Finding[] {
  const { metres, outMs, outings, lowestV, morningV } = day
  if (used.length !== 1 || packs.length !== 1)
    return [{ is: `${used.length} rows of usage, ${packs.length} of batteries`, expected: '1 of each' }]
  const [{ hours_out: hours, distance, rounds: count }] = used
  const [{ lowest_voltage: lowest, rest_voltage_morning: morning }] = packs
  const journeys = outings.length + 1
  const rows = [
    ['hours_out', hours, outMs / HOUR_MS, (2 * TWO_FIXES_MS * journeys) / HOUR_MS],
    ['distance', distance, metres, 0.02 * metres + 30 * journeys],
    ['rounds', count, outings.filter(({ holes }) => holes.length > 0).length, 0],
    ['lowest_voltage', lowest, lowestV, 0],
    ['rest_voltage_morning', morning, morningV, 0],
  ] as const
  return rows
    .filter(([, is, expected, tolerance]) =>
      is === null || expected === null ? is !== expected : Math.abs(is - expected) > tolerance,
    )
    .map(([name, is, expected]) => ({ is: `${name} ${is}`, expected: String(expected) }))
}
