import { setTimeout as sleep } from 'node:timers/promises'
import type { Figure } from '#scripts/rig/figures.ts'
import { type LoadPair, pairFigures, pairValues } from '#scripts/rig/load/beside.ts'
import { besideDownloads, downloadOf, measureDownload } from '#scripts/rig/load/downloads.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { rangeOf } from '../history/shared-history.ts'
import { makeLongHistory } from './long-history.ts'

const LOADED_DEVICES = 200
const WARMUP_S = 2
const SETTLE_MS = 2000
const SHORT_SETTLE_MS = 100
const above: Figure = { what: 'resident memory above idle', unit: ' MB', target: ['<', 100], inShort: true }

/** Measures the cost of a long download for the process and the devices. */
export const downloads = measurement({
  name: 'downloads',
  summary: '2.6 million positions in each format, one after the other, then JSON and CSV in a loop under device load',
  rounds: 6,
  durationS: [20, 1],
  figures: {
    json: { ...above, what: `JSON: ${above.what}` },
    csv: { ...above, what: `CSV: ${above.what}` },
    ndjson: { ...above, what: `NDJSON: ${above.what}` },
    gpx: { ...above, what: `GPX: ${above.what}` },
    jsonS: { what: 'JSON: duration', unit: ' s', digits: 1 },
    ...pairFigures('200 devices', 1.2),
  },
  async run(context) {
    const { bench, isShort, rounds, durationS } = context
    const history = await bench.shared(makeLongHistory, context)
    const gateway = await history.folder.start()
    const pathIn = (format: string) =>
      `/devices/${history.devices[0]?.hardwareId}/gps?${rangeOf(history)}&format=${format}`
    const measure = (format: string) => measureDownload({ bench, isShort, rounds: 1 }, gateway, pathIn(format))
    const [json, csv] = [await measure('json'), await measure('csv')]
    const [ndjson, gpx] = [await measure('ndjson'), await measure('gpx')]
    const loaded = history.devices.slice(0, LOADED_DEVICES)
    const load = () =>
      startDeviceLoad(bench, gateway, loaded, 1, { warmupS: isShort ? 0 : WARMUP_S, durationS }).result()
    const pairs: LoadPair[] = []
    for (let round = 0; round < rounds; round++) {
      // alternates, so that neither phase is always the later
      const isAloneFirst = round % 2 === 0
      const before = isAloneFirst ? await load() : undefined
      const download = downloadOf(gateway, pathIn(isAloneFirst ? 'json' : 'csv'))
      const { result: beside } = await besideDownloads(bench, [download], load)
      await sleep(isShort ? SHORT_SETTLE_MS : SETTLE_MS)
      pairs.push({ alone: before ?? (await load()), beside })
    }
    await gateway.process.stop()
    return {
      json: json.aboveMb,
      csv: csv.aboveMb,
      ndjson: ndjson.aboveMb,
      gpx: gpx.aboveMb,
      jsonS: json.seconds,
      ...pairValues(pairs),
    }
  },
})
