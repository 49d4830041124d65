import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { FilledFolder, type FilledSample, MADE_FROM_MS, MADE_GAP_MS, madeSample } from '../history/fill.ts'

/** Records of each stream of the first device: five months at one in 5 s. The whole history is four times that. */
const SIZES = { devices: 500, records: 2_600_000 }
const SHORT_SIZES = { devices: 50, records: 5_000 }

/** Makes a folder with a long history: half GPS, half battery records, half of each of the first device. */
export async function makeLongHistory(context: ScenarioContext) {
  const sizes = context.isShort ? SHORT_SIZES : SIZES
  const folder = await FilledFolder.create(context, 'history')
  const devices = await folder.register(sizes.devices, 'bench')
  await folder.fill(samplesOf(folder.deviceIds('bench'), sizes.records))
  const toMs = MADE_FROM_MS + (sizes.records - 1) * MADE_GAP_MS
  return { folder, devices, records: sizes.records, fromMs: MADE_FROM_MS, toMs }
}

/** Yields as many records of each stream for the first device as for all others. */
function* samplesOf([first = 0, ...others]: readonly number[], records: number): Generator<FilledSample> {
  for (let tick = 0; tick < records; tick++) {
    yield madeSample(first, tick)
    yield madeSample(others[tick % others.length] ?? first, tick)
  }
}
