import { inParallel } from '#shared/in-parallel.ts'
import type { LockAction } from './course/itinerary.ts'
import { DAY_S, dayOf, dayStartMs } from './course/model-day.ts'
import type { DeviceLink } from './device-client.ts'
import { createCart, createLoggedDevice, type FleetPlan, type PlannedCart, type PlannedDevice } from './fleet-plan.ts'
import { BatchWriter, type LockMessage } from './payload.ts'
import type { DeviceModel, Sample } from './sample.ts'

export interface HistoryOptions {
  readonly plan: FleetPlan
  /** Number of whole days before the current one, which is filled up to now. */
  readonly days: number
  readonly nowMs: number
  readonly signal: AbortSignal
  readonly progress: HistoryProgress
  /** Creates the connection of a device; its `publish` must resolve only when the broker has the message. */
  readonly createLink: (device: PlannedDevice, boot: number) => DeviceLink
}

/** Progress of the filling, shown by the caller. */
export interface HistoryProgress {
  samples: number
  /** Number of records in the samples: fixes and voltages. */
  rows: number
  /** Bytes of their messages. */
  bytes: number
  /** Completed days of carts, including fractions of the current ones. */
  cartDays: number
  cartDaysTotal: number
}

const CARTS_AT_ONCE = 6
const UNACKED_PER_DEVICE = 4
const HOUR_S = 3600

/**
 * Publishes the reports of the fleet over the past days, oldest first for each device, in full batches: a fix every 5
 * seconds while a cart is out and every 60 while it is in, twelve hours a day. A day depends only on the seed and its
 * date: filling it twice sends the same samples twice.
 */
export async function fillHistory(options: HistoryOptions): Promise<void> {
  const { plan, days, progress } = options
  progress.cartDaysTotal = plan.carts * (days + 1)
  await inParallel(plan.fleet, CARTS_AT_ONCE, (planned) => fillCart(planned, options))
}

async function fillCart(planned: PlannedCart, options: HistoryOptions): Promise<void> {
  const { plan, days, nowMs, createLink } = options
  const today = dayOf(nowMs, plan.center)
  const cart = createCart(plan, planned.index)
  const linked = planned.devices.map((device) => ({ device, link: createLink(device, today) }))
  for (const { link } of linked) link.connect()
  try {
    for (let day = today - days; day <= today; day++) {
      cart.startDay(day)
      const devices = linked.map(
        ({ device, link }) => new HistoryDevice(device, { index: planned.index, link, day }, options),
      )
      await fillDay(cart, devices, day, options)
    }
  } finally {
    await Promise.all(linked.map(({ link }) => link.sleep()))
  }
}

async function fillDay(
  cart: ReturnType<typeof createCart>,
  devices: readonly HistoryDevice[],
  day: number,
  options: HistoryOptions,
): Promise<void> {
  const { plan, nowMs, progress, signal } = options
  const startMs = dayStartMs(day, plan.center)
  for (let second = 1; second <= DAY_S; second++) {
    const atMs = startMs + second * 1000
    if (atMs > nowMs) break
    for (const action of cart.step()) {
      for (const device of devices) if (device.hasLock) await device.publishLock(action, atMs)
    }
    for (const device of devices) {
      const sample = device.model.observe(atMs, cart)
      if (sample === undefined) continue
      progress.samples += 1
      progress.rows += 'battery_voltage' in sample.fields ? 2 : 1
      if (!device.batch.add(sample)) await device.publishBatch(sample)
    }
    if (second % HOUR_S === 0) progress.cartDays += HOUR_S / DAY_S
  }
  for (const device of devices) await device.finish()
  signal.throwIfAborted()
  progress.cartDays = Math.round(progress.cartDays * 24) / 24
}

/** Device on one past day: sends batches to the gateway, a few at a time. */
class HistoryDevice {
  readonly model: DeviceModel
  readonly batch: BatchWriter
  readonly hasLock: boolean
  readonly #link: DeviceLink
  readonly #day: number
  readonly #dayEndMs: number
  readonly #signal: AbortSignal
  readonly #progress: HistoryProgress
  readonly #unacked = new Set<Promise<void>>()
  #nextEvent = 1

  constructor(
    device: PlannedDevice,
    { index, link, day }: { index: number; link: DeviceLink; day: number },
    { plan, signal, progress }: HistoryOptions,
  ) {
    const bootedAtMs = dayStartMs(day, plan.center)
    this.model = createLoggedDevice(plan, { device, index, day })
    this.#progress = progress
    this.hasLock = device.hasLock
    this.#link = link
    this.#day = day
    this.#dayEndMs = bootedAtMs + DAY_S * 1000
    this.#signal = signal
    // devices use both forms of a batch; samples carry `ts` in either, or a second run would give them new times
    this.batch = new BatchWriter({ isEnvelope: day % 2 === 0, hasClock: true, boot: day, bootedAtMs })
  }

  /** Sends the full batch; the sample that did not fit is the first of the next one. */
  async publishBatch(next?: Sample): Promise<void> {
    const payload = this.batch.finish(this.#dayEndMs)
    if (next !== undefined) this.batch.add(next)
    this.#progress.bytes += Buffer.byteLength(payload)
    await this.#publish('tlm', payload)
  }

  async publishLock(action: LockAction, atMs: number): Promise<void> {
    const message: LockMessage = { eid: `${this.#day}-${this.#nextEvent}`, ...action, ts: atMs }
    this.#nextEvent += 1
    await this.#publish('evt', JSON.stringify(message))
  }

  /** Sends the rest and waits until the broker has everything. */
  async finish(): Promise<void> {
    if (this.batch.size > 0) await this.publishBatch()
    await orAbort(Promise.all(this.#unacked), this.#signal)
  }

  async #publish(level: 'tlm' | 'evt', payload: string): Promise<void> {
    while (this.#unacked.size >= UNACKED_PER_DEVICE) await orAbort(Promise.race(this.#unacked), this.#signal)
    const sending: Promise<void> = this.#link.publish(level, payload).finally(() => this.#unacked.delete(sending))
    this.#unacked.add(sending)
  }
}

/** Waits for a promise, or throws if the signal is aborted first: an acknowledgement may never arrive. */
async function orAbort(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort)
  try {
    await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
