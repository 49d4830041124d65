import type { Figure } from '#scripts/rig/figures.ts'
import { downloadOf, startDownloadClient } from '#scripts/rig/load/downloads.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { continueActive, makeHistory } from './shared-history.ts'

const PATH = '/trips/active'
const duration: Figure = { what: `GET ${PATH}`, unit: ' ms', digits: 1, target: ['<', 100] }

/** Searches for devices on a trip: with the last minutes in the log, as usual, and with all in blocks. */
export const active = measurement({
  name: 'active',
  summary: `GET ${PATH}: those of 500 devices that are on a trip, with and without a log`,
  rounds: 15,
  figures: {
    partly: { ...duration, what: `${duration.what}, partly in the log` },
    sealed: { ...duration, what: `${duration.what}, all sealed` },
    // a response without any device would make the time meaningless
    onTrip: { what: 'devices on a trip', target: ['>=', 1], by: 'least' },
  },
  async run(context) {
    const history = await context.bench.shared(makeHistory, context)
    await continueActive(history)
    const { folder } = history
    const gateway = await folder.start()
    const onTrip: number[] = []
    const measure = async () => {
      onTrip.push((await gateway.api.call(`GET ${PATH}`)).summary.activeCount)
      const client = startDownloadClient(context.bench)
      const durationsMs: number[] = []
      for (let round = 0; round < context.rounds; round++) {
        const { durationS } = await client.call('download', downloadOf(gateway, PATH))
        durationsMs.push(durationS * 1000)
      }
      client.kill()
      return durationsMs
    }
    const partly = await measure()
    await folder.seal(gateway)
    const sealed = await measure()
    await gateway.process.stop()
    return { partly, sealed, onTrip }
  },
})
