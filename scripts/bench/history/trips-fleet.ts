import { measureDownload } from '#scripts/rig/load/downloads.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { checkTrips, makeHistory, tripsOfAll } from './shared-history.ts'

/** Measures time and memory of a month of as many devices as one request may name. */
export const tripsFleet = measurement({
  name: 'trips-fleet',
  summary: 'trips of 50 devices, 31 days at a fix in 5 s',
  rounds: 5,
  figures: {
    seconds: { what: 'GET /trips', unit: ' s', target: ['<', 2], digits: 2 },
    aboveMb: { what: 'resident memory above idle, at most', unit: ' MB', target: ['<', 150], by: 'most' },
    rate: { what: 'fixes a second' },
  },
  async run(context) {
    const { folder, fleet } = await context.bench.shared(makeHistory, context)
    const gateway = await folder.start()
    const path = tripsOfAll(fleet)
    const measured = await measureDownload(context, gateway, path)
    // after the measurements: if the gateway answered this first, its memory would count
    await checkTrips(gateway, path, fleet)
    await gateway.process.stop()
    return { ...measured, rate: measured.seconds.map((seconds) => fleet.records / seconds) }
  },
})
