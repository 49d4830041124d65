import { none } from '#scripts/rig/figures.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { startBeside } from '../api/beside-bare.ts'
import { startCourse } from './staffed-gateway.ts'

const PATH = '/carts'
const CARTS = 500
const SHORT_CARTS = 20
const REPORTING_S = 3

/** Reads a list of 500 carts, and the same JSON from a server that serialises and compresses it. */
export const list = measurement({
  name: 'list',
  summary: `GET ${PATH} of ${CARTS} carts, compared with a bare server that compresses the same`,
  rounds: 5,
  durationS: [5, 0.2],
  figures: {
    ratio: { what: `GET ${PATH} of ${CARTS} carts, gateway : bare server`, target: ['>=', 0.6], digits: 2 },
    rate: { what: 'the same', unit: '/s' },
    p99: { what: 'the same: p99', unit: ' ms', digits: 1 },
    cpu: { what: 'the same: CPU of the gateway for each', unit: ' us' },
    failures: none('lists not answered 200'),
  },
  async run(context) {
    const { bench, isShort } = context
    const { gateway, devices } = await startCourse(context, isShort ? SHORT_CARTS : CARTS)
    const reporting = { warmupS: 1, durationS: isShort ? 1 : REPORTING_S }
    await startDeviceLoad(bench, gateway, devices, 1, reporting).result()
    const text = JSON.stringify(await gateway.api.call(`GET ${PATH}`))
    const beside = await startBeside(context, gateway, [{ path: PATH, text, isMadeAgain: true }])
    const measured = await beside.measure(PATH, 'gzip')
    await beside.stop()
    return measured
  },
})
