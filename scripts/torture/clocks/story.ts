import { createRandom, type Random } from '#shared/random.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import { BEGIN_MS, ClockedGateway, DEVICES, type Findings } from './clocked-gateway.ts'

const YEAR_MS = 365 * DAY_MS
/** Days of history that a device sends at the beginning, all of which are truly recent. */
const HISTORY_DAYS = 50
const STEPS = { least: 6, most: 12 }

/** Events of the clock, and the faults found at the end. */
export interface Story extends Findings {
  seed: number
  steps: string[]
}

/** Plays a random story about a gateway's clock; the same seed gives the same story. */
export async function playStory(seed: number): Promise<Story> {
  const random = createRandom(seed, 'clocks')
  const first = firstStart(random)
  const gateway = await ClockedGateway.open(first.offMs)
  const steps = [first.name]
  try {
    await gateway.check(first.name)
    await gateway.send(['satellite-1'], HISTORY_DAYS, HISTORY_DAYS * DAY_MS)
    const count = random.integer(STEPS.least, STEPS.most)
    for (let i = 0; i < count; i++) steps.push(await takeStep(gateway, random))
    return { seed, steps, ...(await gateway.findings()) }
  } finally {
    await gateway.close()
  }
}

// No source confirms the time of a first start.
function firstStart(random: Random): { name: string; offMs: number } {
  const chance = random.next()
  if (chance < 0.7) return { name: 'first start with the right time', offMs: 0 }
  if (chance < 0.85) return { name: 'first start in 1970', offMs: 5000 - BEGIN_MS }
  const offMs = random.integer(1, 8) * YEAR_MS
  return { name: `first start ${span(offMs)}`, offMs }
}

/** Plays one clock event; devices send, retention runs, sometimes an admin purges. Returns its description. */
async function takeStep(gateway: ClockedGateway, random: Random): Promise<string> {
  const step = await changeClock(gateway, random)
  await gateway.check(step)
  const isOutage = random.chance(0.4)
  // after an outage the device sends what it measured meanwhile
  const [count, spanMs] = isOutage ? [random.integer(2, 40), random.integer(1, 48) * HOUR_MS] : [1, 0]
  await gateway.send(DEVICES, count, spanMs)
  await gateway.runRetention()
  if (random.chance(0.3)) await gateway.purge(random.integer(40, 100))
  await gateway.check(`${step}, then devices`)
  return isOutage ? `${step}, ${count} readings of ${span(spanMs)}` : step
}

type Change = (gateway: ClockedGateway, random: Random) => string | Promise<string>

const CHANGES: readonly [Change, ...Change[]] = [jump, jump, jump, restart, restart, putRight, goOn]

function changeClock(gateway: ClockedGateway, random: Random): string | Promise<string> {
  return random.pick(CHANGES)(gateway, random)
}

/** Sets the system clock while the gateway runs, as a user or a program may. */
function jump(gateway: ClockedGateway, random: Random): string {
  if (random.chance(0.1)) {
    gateway.setClock(5000 - gateway.trueMs)
    return 'set to 1970'
  }
  const offMs = randomOffMs(random)
  gateway.setClock(offMs)
  return `set ${span(offMs)}`
}

/** Error from minutes to years, ahead or back, including the whole hours of a wrong time zone. */
function randomOffMs(random: Random): number {
  const sizes: [number, ...number[]] = [
    random.integer(6, 59) * MINUTE_MS,
    random.integer(1, 12) * HOUR_MS,
    random.integer(1, 12) * HOUR_MS,
    random.integer(1, 25) * DAY_MS,
    random.integer(40, 300) * DAY_MS,
    random.integer(1, 10) * YEAR_MS,
  ]
  // random milliseconds keep the results of two jumps distinct
  return (random.chance(0.5) ? 1 : -1) * random.pick(sizes) + random.integer(0, 999)
}

/** Stops the gateway and starts it with a clock that was lost, stood still, was set meanwhile, or is right. */
async function restart(gateway: ClockedGateway, random: Random): Promise<string> {
  const offline: [number, ...number[]] = [
    random.integer(5, 300) * 1000,
    random.integer(1, 14) * HOUR_MS,
    random.integer(1, 20) * DAY_MS,
    random.integer(40, 150) * DAY_MS,
  ]
  const offlineMs = random.pick(offline)
  const wrongMs = randomOffMs(random)
  const stoodAtMs = gateway.system.nowMs()
  const clocks: [[string, number | null], ...[string, number | null][]] = [
    ['the right time', 0],
    ['its clock kept', null],
    ['1970', 5000 - gateway.trueMs - offlineMs],
    ['a clock that stood still', stoodAtMs - gateway.trueMs - offlineMs],
    [span(wrongMs), wrongMs],
  ]
  // readings dated by a clock that stood still for months count as that old, because their age cannot be known
  const [what, offMs] = random.pick(clocks)
  await gateway.restart(offlineMs, (system, trueMs) => (offMs === null ? system.nowMs() : trueMs + offMs))
  return `restart after ${span(offlineMs)}, ${what}`
}

/** Corrects the clock: by the network, or by a user, who may confirm it. */
async function putRight(gateway: ClockedGateway, random: Random): Promise<string> {
  if (random.chance(0.4)) {
    gateway.synchronize()
    return 'synchronized'
  }
  gateway.setClock(0)
  if (random.chance(0.5)) return 'set right'
  await gateway.confirm()
  return 'set right and confirmed'
}

function goOn(gateway: ClockedGateway, random: Random): string {
  const ms = random.integer(1, 72) * HOUR_MS + random.integer(0, 3_599_999)
  gateway.passTime(ms)
  return `${span(ms)} later`
}

function span(ms: number): string {
  const size = Math.abs(ms)
  const amount =
    size >= 2 * YEAR_MS
      ? `${Math.floor(size / YEAR_MS)} years`
      : size >= 2 * DAY_MS
        ? `${Math.floor(size / DAY_MS)} days`
        : size >= 2 * HOUR_MS
          ? `${Math.floor(size / HOUR_MS)} hours`
          : `${Math.floor(size / MINUTE_MS)} minutes`
  return ms < 0 ? `-${amount}` : amount
}
