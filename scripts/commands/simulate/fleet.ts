import { CommandError } from '#scripts/cli/command.ts'
import { grouped, minutes } from '#scripts/cli/progress.ts'
import { describeError } from '#shared/errors.ts'
import { systemClock } from '#shared/time.ts'
import { DeviceClient, type DeviceClientOptions, Traffic } from './device-client.ts'
import { type FleetPlan, type PlannedDevice, planFleet } from './fleet-plan.ts'
import { fillHistory, type HistoryProgress } from './history.ts'
import { LiveFleet } from './live-fleet.ts'
import type { SimulateOptions } from './options.ts'
import { importPast } from './past.ts'
import { type MqttCredentials, registerDevices } from './register.ts'
import { groupFleet, setUpCourse } from './set-up.ts'

/** End of the work: `cut` means stopped before the requested result was complete; driving until stopped is complete. */
type WorkEnd = 'finished' | 'cut'

export interface Fleet {
  /** Settles when the work is complete or stopped; rejects with a `CommandError` when it cannot continue. */
  readonly done: Promise<WorkEnd>
  /** Publishes the offline status of every device and disconnects; `done` settles then. May be called twice. */
  stop(): Promise<void>
}

export interface FleetScreen {
  /** Prints a line that stays. */
  line(text: string): void
  /** Shows the progress of the work: a share of the whole, and a description. */
  progress(share: number, text: string): void
}

interface Session {
  readonly options: SimulateOptions
  readonly plan: FleetPlan
  readonly credentials: Map<string, MqttCredentials>
  readonly traffic: Traffic
  readonly screen: FleetScreen
  readonly signal: AbortSignal
}

const STATUS_MS = 5_000
/** Number of status lines at full rate, for ten minutes; then one a minute is printed, as a demo may run for months. */
const FIRST_LINES = 120
const LATER_EACH = 12
const PROGRESS_MS = 500

/** Registers the devices, fills the past if requested, then drives until stopped or until the duration is over. */
export function startFleet(options: SimulateOptions, screen: FleetScreen): Fleet {
  return startWork((signal) => run(options, screen, signal))
}

/** Starts work that runs until it is done or its signal is aborted. */
export function startWork(work: (stopping: AbortSignal) => Promise<WorkEnd>): Fleet {
  const stopping = new AbortController()
  const done = work(stopping.signal).catch((error: unknown): WorkEnd => {
    // a failure stays a failure, even after a stop was requested
    if (!stopping.signal.aborted || error instanceof CommandError) throw error
    return 'cut'
  })
  return {
    done,
    async stop() {
      stopping.abort()
      await done
    },
  }
}

async function run(options: SimulateOptions, screen: FleetScreen, signal: AbortSignal): Promise<WorkEnd> {
  const plan = planFleet(options)
  const devices = plan.fleet.flatMap((cart) => cart.devices)
  const { gatewayUrl, enrolmentKey } = options
  if (options.setsUp) await setUpCourse(plan, options, { nowMs: systemClock.nowMs(), signal })
  const credentials = await registerDevices(devices, { ...options, signal })
  if (options.setsUp) await groupFleet(plan, options, signal)
  const are = enrolmentKey === undefined ? 'are registered' : 'are registered or enrol'
  screen.line(`${options.carts} carts with ${devices.length} devices ${are} at ${gatewayUrl}`)
  const session = { options, plan, credentials, screen, signal, traffic: new Traffic() }
  if (options.historyDays > 0) await fillPast(session)
  if (signal.aborted) return 'cut'
  if (options.isLive) await driveLive(session)
  return 'finished'
}

async function fillPast(session: Session): Promise<void> {
  const { options, plan, signal } = session
  const nowMs = systemClock.nowMs()
  await shown(session, options.historyDays, (progress) =>
    fillHistory({
      plan,
      days: options.historyDays,
      nowMs,
      signal,
      progress,
      createLink: (device, boot) =>
        createClient(session, device, { qos: 1, boot: () => boot, onMessage: () => undefined }),
    }),
  )
}

/** Fills days, with an occasional line about the progress, and one at the end. */
async function shown(
  { screen }: Session,
  days: number,
  fill: (progress: HistoryProgress) => Promise<void>,
): Promise<void> {
  const startedAtMs = systemClock.nowMs()
  const progress: HistoryProgress = { samples: 0, rows: 0, bytes: 0, cartDays: 0, cartDaysTotal: 0 }
  const elapsedS = () => (systemClock.nowMs() - startedAtMs) / 1000
  const rate = () => `${grouped(progress.samples / Math.max(0.001, elapsedS()))}/s`
  const timer = setInterval(() => {
    const { samples, cartDays, cartDaysTotal } = progress
    if (cartDays === 0) return
    const done = `${Math.floor(cartDays)}/${Math.ceil(cartDaysTotal)} cart days`
    screen.progress(cartDays / cartDaysTotal, `${done}, ${grouped(samples)} samples, ${rate()}`)
  }, PROGRESS_MS)
  try {
    await fill(progress)
    const { samples, rows, bytes } = progress
    if (samples === 0) return
    screen.line(`${days} days filled: ${grouped(samples)} samples in ${minutes(elapsedS())} (${rate()})`)
    // the gateway counts imported records
    if (rows > 0) screen.line(`${grouped(rows)} rows (fixes and voltages), ${grouped(bytes)} bytes of messages`)
  } finally {
    clearInterval(timer)
  }
}

/**
 * Fills the days before the fleet was registered. Returns false after a failure, printed without stopping the fleet.
 */
async function fillPastDays(session: Session, over: AbortSignal): Promise<boolean> {
  const { plan, options, screen } = session
  const { pastDays: days, gatewayUrl, adminKey } = options
  const signal = AbortSignal.any([session.signal, over])
  try {
    await shown(session, days, (progress) => importPast({ plan, days, gatewayUrl, adminKey, signal, progress }))
    return true
  } catch (error) {
    if (signal.aborted) return true
    screen.line(`The days before could not be filled: ${describeError(error)}`)
    return false
  }
}

async function driveLive(session: Session): Promise<void> {
  const { options, plan, screen, signal, traffic } = session
  const fleet = new LiveFleet({
    plan,
    gatewayUrl: options.gatewayUrl,
    speedUp: options.speedUp,
    days: options.days,
    clock: systemClock,
    createLink: (live) =>
      createClient(session, live.device, {
        qos: options.qos,
        boot: () => live.boot,
        onMessage: (topic, payload) => live.receive(topic, payload),
      }),
  })
  await fleet.start()
  const over = new AbortController()
  const past = options.pastDays > 0 ? fillPastDays(session, over.signal) : Promise.resolve(true)
  const status = statusLine(fleet, traffic)
  let lines = 0
  const timer = setInterval(() => {
    const line = status()
    if (isLineShown(lines++)) screen.line(line)
  }, STATUS_MS)
  try {
    await stopped(signal, options.durationS)
  } finally {
    clearInterval(timer)
    over.abort()
    await fleet.stop()
    screen.line(`Stopped: ${traffic.sent} messages sent, ${traffic.acked} acknowledged`)
  }
  if (!(await past)) throw new CommandError('the days before could not be filled, see above')
}

/** Resolves when the signal is aborted or the seconds are over. */
export function stopped(signal: AbortSignal, seconds: number | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const timer = seconds === undefined ? undefined : setTimeout(resolve, seconds * 1000)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** True if the status line of this number, from 0, is printed. */
export function isLineShown(number: number): boolean {
  return number < FIRST_LINES || number % LATER_EACH === 0
}

function statusLine(fleet: LiveFleet, traffic: Traffic): () => string {
  let before = new Traffic()
  const perSecond = (count: number) => (count / (STATUS_MS / 1000)).toFixed(1)
  return () => {
    const { devices } = fleet
    const connected = devices.filter((device) => device.isConnected).length
    const asleep = devices.filter((device) => !device.isAwake).length
    const buffered = devices.reduce((sum, device) => sum + device.buffered, 0)
    const sent = traffic.sent - before.sent
    const acked = traffic.acked - before.acked
    before = { ...traffic }
    return (
      `${connected}/${devices.length} devices connected` +
      `${asleep > 0 ? ` (${asleep} asleep)` : ''}  sent ${perSecond(sent)}/s  acked ${perSecond(acked)}/s  ` +
      `in flight ${traffic.sent - traffic.acked - traffic.lost}  buffered ${buffered}`
    )
  }
}

function createClient(
  { options: { brokerUrl }, credentials: all, traffic }: Session,
  { hardwareId, deviceType }: PlannedDevice,
  part: Pick<DeviceClientOptions, 'qos' | 'boot' | 'onMessage'>,
): DeviceClient {
  const credentials = all.get(hardwareId)
  if (credentials === undefined) throw new Error(`${hardwareId} was not registered`)
  return new DeviceClient({ brokerUrl, traffic, hardwareId, deviceType, credentials, ...part })
}
