import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { FilledFolder, type FilledSample } from '../history/fill.ts'

/** Records of each stream of the first device: five months at one in 5 s. The whole history is four times that. */
const SIZES = { devices: 500, records: 2_600_000 }
const SHORT_SIZES = { devices: 50, records: 5_000 }
const GAP_MS = 5000
/** 1 May 2026. */
const FROM_MS = 1_777_593_600_000

/** Makes a folder with a long history: half GPS, half battery records, half of each of the first device. */
export async function makeLongHistory(context: ScenarioContext) {
  const sizes = context.isShort ? SHORT_SIZES : SIZES
  const folder = await FilledFolder.create(context, 'history')
  const devices = await folder.register(sizes.devices, 'bench')
  await folder.fill(samplesOf(folder.deviceIds('bench'), sizes.records))
  return { folder, devices, records: sizes.records, fromMs: FROM_MS, toMs: FROM_MS + (sizes.records - 1) * GAP_MS }
}

/** Yields as many records of each stream for the first device as for all others, in numbers as long as real ones. */
function* samplesOf([first = 0, ...others]: readonly number[], records: number): Generator<FilledSample> {
  for (let tick = 0; tick < records; tick++) {
    const sample = {
      atMs: FROM_MS + tick * GAP_MS,
      latE7: 365_680_000 + ((tick * 37) % 90_000),
      longE7: -1_219_480_000 + ((tick * 53) % 90_000),
      speedMilliKmh: (tick * 7) % 24_000,
      voltageMv: 48_000 + ((tick * 11) % 6_000),
    }
    yield { ...sample, deviceId: first }
    yield { ...sample, deviceId: others[tick % others.length] ?? first }
  }
}
