import type { Figure } from '#scripts/rig/figures.ts'
import { type LoadPair, pairFigures, pairValues } from '#scripts/rig/load/beside.ts'
import { besideDownloads, downloadOf, type MeasuredDownload, measureDownload } from '#scripts/rig/load/downloads.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { measurement, type RunContext } from '#scripts/rig/scenario.ts'
import { MONTH, MONTH_DAYS, startMonth, WEEK, WEEK_DAYS } from './course-month.ts'

const PATHS = {
  traffic: `/reports/traffic?${WEEK}`,
  silence: `/reports/silence?${WEEK}`,
  utilisation: `/reports/utilisation?${MONTH}`,
  battery: `/reports/battery?${MONTH}`,
}
const ROUNDS = 5
const WARMUP_S = 2

export const maps = measurement({
  name: 'maps',
  summary: 'traffic and silences of a week of 200 carts: time, memory',
  rounds: ROUNDS,
  figures: figuresOf('traffic', 'silences', 3),
  run: (context) => measure(context, WEEK_DAYS, [PATHS.traffic, PATHS.silence]),
})

export const months = measurement({
  name: 'months',
  summary: 'utilisation and batteries of a month of 200 carts: time, memory',
  rounds: ROUNDS,
  // a user waits for these, but may leave them in the background
  figures: figuresOf('utilisation', 'batteries', 30),
  run: (context) => measure(context, MONTH_DAYS, [PATHS.utilisation, PATHS.battery]),
})

function figuresOf(first: string, second: string, limitS: number) {
  const time: Partial<Figure> = { unit: ' s', digits: 2 }
  const memory: Omit<Figure, 'what'> = { unit: ' MB', by: 'most', target: ['<', 150] }
  return {
    first: { ...time, what: first, target: ['<', limitS] },
    firstMb: { ...memory, what: `${first}: resident memory above idle` },
    firstBeside: { ...time, what: `${first} of the other gateway` },
    second: { ...time, what: second, target: ['<', limitS] },
    secondMb: { ...memory, what: `${second}: resident memory above idle` },
    secondBeside: { ...time, what: `${second} of the other gateway` },
  } satisfies Record<string, Figure>
}

/** Measures two reports, and then those of another gateway on the same folder, if one is named. */
async function measure(context: RunContext, days: number, paths: readonly string[]) {
  const { entry, beside } = context
  const measured: MeasuredDownload[] = []
  for (const each of beside === undefined ? [entry] : [entry, beside]) {
    const { gateway } = await startMonth(context, days, each)
    for (const path of paths) measured.push(await measureDownload(context, gateway, path))
    await gateway.process.stop()
  }
  const [first, second, firstBeside, secondBeside] = measured
  return {
    first: first?.seconds ?? null,
    firstMb: first?.aboveMb ?? null,
    firstBeside: firstBeside?.seconds ?? null,
    second: second?.seconds ?? null,
    secondMb: second?.aboveMb ?? null,
    secondBeside: secondBeside?.seconds ?? null,
  }
}

export const neighbours = measurement({
  name: 'neighbours',
  summary: '200 devices at 1 message a second during all of that',
  rounds: ROUNDS,
  durationS: [20, 2],
  figures: {
    ...pairFigures('200 devices', 1.5),
    answered: { what: 'reports answered meanwhile', by: 'sum' },
  },
  async run(context) {
    const { bench, isShort, rounds, durationS } = context
    const { gateway, loaded } = await startMonth(context, MONTH_DAYS)
    const { traffic, utilisation, silence, battery } = PATHS
    const downloads = [traffic, utilisation, silence, battery].map((path) => downloadOf(gateway, path))
    const options = { warmupS: isShort ? 0 : WARMUP_S, durationS }
    const load = () => startDeviceLoad(bench, gateway, loaded, 1, options).result()
    const pairs: LoadPair[] = []
    const answered: number[] = []
    for (let round = 0; round < rounds; round++) {
      // alternates, so that neither is always the later
      const before = round % 2 === 0 ? await load() : undefined
      const { result: beside, downloads: ended } = await besideDownloads(bench, downloads, load)
      pairs.push({ alone: before ?? (await load()), beside })
      answered.push(ended)
    }
    await gateway.process.stop()
    return { ...pairValues(pairs), answered }
  },
})
