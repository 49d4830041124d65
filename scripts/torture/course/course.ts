import { type GatewayProcess, startGateway, untilListening } from '#scripts/rig/gateway-process.ts'
import { type Figure, formatCount, noneOf, printProgress, printTable, withoutTarget } from '#scripts/rig/report.ts'
import { must, openCourse, registerCarts } from '#scripts/rig/staff-course.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import { findDamage } from '../disk/integrity.ts'
import { createDataFolder } from '../disk/recorded-folder.ts'
import { fleetFigures } from '../fleet-figures.ts'
import { type FleetCheck, FleetLoad, type FleetSize } from '../fleet-load.ts'
import { MortalGateway } from '../mortal-gateway.ts'
import type { TortureContext, TortureScenario } from '../scenario.ts'
import { type CourseCheck, checkCourse } from './check.ts'
import { GolfCart } from './golf-cart.ts'
import { Greenkeeper } from './greenkeeper.ts'
import { WebhookReceiver } from './receiver.ts'
import { Uptime } from './uptime.ts'

const KILLS = 200
const SHORT_KILLS = 5
const CARTS = 20
const SHORT_CARTS = 5
const FLEET: FleetSize = { devices: 50, perDevicePerS: 5, lockDevices: 5 }
const SHORT_FLEET: FleetSize = { devices: 10, perDevicePerS: 5, lockDevices: 2 }
/** Six seconds: more than a kill and a start take, so that a cart that is about to leave is not locked meanwhile. */
const AUTO_LOCK_MIN = 0.1
const PROGRESS_EVERY = 10
/** Largest gap between the retries of a delivery, after a kill in the middle of one. */
const DELIVERED_LIMIT_MS = 60_000

interface Outcome {
  kills: number
  check: CourseCheck
  greenkeeper: Pick<Greenkeeper, 'changes' | 'gone' | 'overdue' | 'endedUnattended'>
  missed: string[]
  repeated: number
  fleet: FleetCheck
  damage: string[]
}

/** Checks that automatic actions survive a kill at any moment. */
export const course: TortureScenario = {
  name: 'course',
  summary: 'kill -9 of a course with alerts, auto-locks, a webhook, zones and drawings: none lost, twice or late',
  run: async (context) => {
    const outcome = await torture(context)
    print(outcome)
    return { figures: createFigures(outcome), raw: outcome }
  },
}

async function torture(context: TortureContext): Promise<Outcome> {
  const { bench, entry, isShort, cycles } = context
  const kills = cycles ?? (isShort ? SHORT_KILLS : KILLS)
  const dataDir = createDataFolder(bench, 'course')
  const receiver = new WebhookReceiver()
  const first = await startGateway(bench, { entry, dataDir })
  const uptime = new Uptime()
  const carts = await openTorturedCourse(first, { receiver, uptime }, isShort ? SHORT_CARTS : CARTS)
  const fleet = await FleetLoad.start(bench, first, isShort ? SHORT_FLEET : FLEET)
  for (const cart of carts) cart.start()
  const greenkeeper = new Greenkeeper(first, uptime)
  await greenkeeper.start()
  const connected = async () => {
    uptime.begin(Date.now())
    // each start needs a confirmed clock before it locks a cart, which two devices take minutes for
    await must(first, 'POST', '/clock/confirm', { time: new Date().toISOString() })
    await fleet.connected()
  }
  uptime.begin(0)
  const gateway = new MortalGateway(context, first.ports, connected)
  await first.process.stop('SIGKILL')
  uptime.end(Date.now())
  for (let done = 1; done <= kills; done++) {
    greenkeeper.expectLife(Date.now())
    await gateway.kill(dataDir)
    uptime.end(Date.now())
    if (done % PROGRESS_EVERY === 0) printProgress(`  ${done} of ${kills} kills`)
  }
  greenkeeper.expectLife(Date.now())
  const last = await untilListening(gateway.spawn({ dataDir }))
  await connected()
  await Promise.all([greenkeeper.end(), ...carts.map((cart) => cart.end())])
  const check = await settled(() => checkCourse(last, carts, receiver, uptime))
  const { check: fleetCheck } = await fleet.finish(last)
  for (const cart of carts) cart.close()
  await last.process.stop()
  receiver.stop()
  const { changes, gone, overdue, endedUnattended } = greenkeeper
  return {
    kills,
    check,
    greenkeeper: { changes, gone, overdue, endedUnattended },
    fleet: fleetCheck,
    repeated: receiver.repeated,
    missed: carts.flatMap(({ missed }) => missed),
    damage: findDamage(bench, dataDir),
  }
}

async function openTorturedCourse(
  gateway: GatewayProcess,
  observers: { receiver: WebhookReceiver; uptime: Uptime },
  count: number,
): Promise<GolfCart[]> {
  await openCourse(gateway)
  await must(gateway, 'PATCH', '/site', { auto_lock_after_min: AUTO_LOCK_MIN })
  await must(gateway, 'POST', '/webhooks', { url: await observers.receiver.listen(), kinds: ['outside'] })
  const devices = await registerCarts(gateway, { count, deviceType: 'teebox', id: 'golf' })
  return devices.map((device, i) => new GolfCart(device, `golf ${i + 1}`, gateway.ports.mqtt, observers))
}

/** Repeats the check until everything still in progress has had its time. */
async function settled(judge: () => Promise<CourseCheck>): Promise<CourseCheck> {
  let check = await judge()
  const isSettled = async () => {
    check = await judge()
    return check.notDelivered + check.notClosed === 0
  }
  await waitUntil(isSettled, DELIVERED_LIMIT_MS, 500)
  return check
}

function print({ kills, check, greenkeeper, missed, repeated }: Outcome): void {
  printTable(
    `Course: ${kills} times kill -9`,
    ['excursions', 'stays', 'longest to the alert, s up', 'deliveries that came again'],
    [
      [
        formatCount(check.excursions),
        formatCount(check.stays),
        (check.longestMs / 1000).toFixed(1),
        formatCount(repeated),
      ],
    ],
  )
  for (const what of missed) printProgress(`  ${what}`)
  for (const what of greenkeeper.gone) printProgress(`  confirmed and lost: ${what}`)
  for (const what of greenkeeper.overdue) printProgress(`  in effect after its end: ${what}`)
}

function createFigures({ check, greenkeeper, missed, fleet, damage }: Outcome): Figure[] {
  const { excursions, stays, longestMs } = check
  return [
    noneOf(`course: excursions without an alert, of ${formatCount(excursions)}`, check.missing),
    noneOf('course: additional alerts of one excursion', check.twice),
    noneOf('course: alerts opened late', check.late),
    withoutTarget(
      'course: longest from the fix to the alert, in uptime of the gateway',
      `${(longestMs / 1000).toFixed(1)} s`,
    ),
    noneOf('course: alerts that never end', check.notClosed),
    noneOf('course: alerts or ends that the webhook did not receive', check.notDelivered),
    noneOf('course: alerts or ends that it received twice', check.deliveredTwice),
    noneOf('course: ends received before their alerts', check.outOfOrder),
    noneOf(`course: stays in which the cart was not locked, of ${formatCount(stays)}`, check.notLocked),
    noneOf('course: additional locks of one stay', check.lockedTwice),
    noneOf('course: reactions that did not come in time', missed.length),
    noneOf(
      `course: zones, overrides, drawings and photos confirmed and lost, of ${formatCount(greenkeeper.changes)}`,
      greenkeeper.gone.length,
    ),
    noneOf('course: overrides that did not end in time', greenkeeper.overdue.length),
    withoutTarget('course: overrides whose end passed while no gateway ran', formatCount(greenkeeper.endedUnattended)),
    ...fleetFigures('course', fleet),
    noneOf('course: damage found by integrity_check', damage.length),
  ]
}
