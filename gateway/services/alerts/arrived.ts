import type { Events, GatewayEvents } from '#gateway/events.ts'
import type { SampleColumns } from '../carts/sample-columns.ts'

export type ArrivedCrossing = GatewayEvents['zoneCrossed']

/** Maximum number of messages kept for each device between two evaluations; the oldest are dropped. */
const KEPT = 256

const NONE: readonly never[] = []

/** Each device's samples and crossings since the last evaluation: rules need every fix, a cart has only its newest. */
export class Arrived {
  readonly #samples = new Map<string, SampleColumns[]>()
  readonly #crossings = new Map<string, ArrivedCrossing[]>()

  constructor(events: Pick<Events, 'on'>) {
    events.on('sampled', ({ device, numbers }) => append(this.#samples, device.row.hardwareId, numbers))
    events.on('zoneCrossed', (crossing) => append(this.#crossings, crossing.hardwareId, crossing))
  }

  samplesOf(hardwareId: string | undefined): readonly SampleColumns[] {
    return (hardwareId !== undefined && this.#samples.get(hardwareId)) || NONE
  }

  crossingsOf(hardwareId: string | undefined): readonly ArrivedCrossing[] {
    return (hardwareId !== undefined && this.#crossings.get(hardwareId)) || NONE
  }

  /** Drops everything when an evaluation has used it. */
  clear(): void {
    if (this.#samples.size > 0) this.#samples.clear()
    if (this.#crossings.size > 0) this.#crossings.clear()
  }
}

function append<Item>(lists: Map<string, Item[]>, hardwareId: string, item: Item): void {
  const list = lists.get(hardwareId)
  if (list === undefined) lists.set(hardwareId, [item])
  else appendLimited(list, item)
}

/** Appends to a list, which drops its oldest item when it is full. */
export function appendLimited<Item>(list: Item[], item: Item): void {
  if (list.length >= KEPT) list.shift()
  list.push(item)
}
