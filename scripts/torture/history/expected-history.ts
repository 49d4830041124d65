import type { TelemetryStream } from '#shared/ids.ts'
import { streamsAt } from './records.ts'

/** Records that were sent and may be acknowledged. */
export interface Send {
  readonly device: number
  readonly times: readonly number[]
  readonly at: number
}

export interface DeletionScope {
  /** Null: all of them. */
  device: number | null
  streams: readonly TelemetryStream[]
  /** Records of before this; infinite: all. */
  beforeMs: number
}

export interface Deletion extends DeletionScope {
  readonly startedAt: number
  endedAt: number
  isDone: boolean
}

/** Result of comparing a history with the records that must be in it. */
export interface HistoryFaults {
  missing: number
  /** Required records that are not there and known to be missing; they do not count as missing. */
  excused: number
  /** In the history although its deletion was confirmed and no device sent it again. */
  returned: number
  /** In the history although no device ever sent it. */
  unknown: number
  examples: string[]
}

/** Rules for a history at a place other than the gateway. */
export interface Place {
  /** True if a deletion also applies there. */
  isDeletedBy(deletion: DeletionScope): boolean
  /** True if a record is known to be missing. */
  isExcused(device: number, stream: TelemetryStream, atMs: number): boolean
}

/** Rules of the gateway: every deletion applies, and no missing record is excused. */
const GATEWAY: Place = { isDeletedBy: () => true, isExcused: () => false }

interface Fate {
  lastSentAt: number
  /** Send time of its newest acknowledged transmission. */
  confirmedSentAt: number
  lastAcknowledgedAt: number
  unacknowledged: number
}

const MAX_EXAMPLES = 5

/** Tracks which records must, must not or may (unacknowledged; deleted meanwhile or without a response) be there. */
export class ExpectedHistory {
  readonly #fates: Record<TelemetryStream, Map<number, Fate>>[]
  readonly #deletions: Deletion[] = []
  /** Logical clock: later events have higher values. */
  #now = 0

  constructor(devices: number) {
    this.#fates = Array.from({ length: devices }, () => ({ gps: new Map(), battery: new Map() }))
  }

  send(device: number, times: readonly number[]): Send {
    const at = ++this.#now
    for (const fate of this.#fatesOf(device, times)) {
      fate.lastSentAt = at
      fate.unacknowledged++
    }
    return { device, times, at }
  }

  acknowledge({ device, times, at }: Send): void {
    const now = ++this.#now
    for (const fate of this.#fatesOf(device, times)) {
      fate.confirmedSentAt = Math.max(fate.confirmedSentAt, at)
      fate.lastAcknowledgedAt = now
      fate.unacknowledged--
    }
  }

  /** Cancels a send: the request was refused, or no gateway was running. */
  withdraw({ device, times }: Send): void {
    for (const fate of this.#fatesOf(device, times)) fate.unacknowledged--
  }

  startDeletion(scope: DeletionScope): Deletion {
    const startedAt = ++this.#now
    const deletion = { ...scope, startedAt, endedAt: Number.POSITIVE_INFINITY, isDone: false }
    this.#deletions.push(deletion)
    return deletion
  }

  /** Records a successful response: everything before `beforeMs` that existed when the deletion began is gone. */
  confirmDeletion(deletion: Deletion, beforeMs: number): void {
    deletion.endedAt = ++this.#now
    deletion.isDone = true
    deletion.beforeMs = beforeMs
  }

  /** Records that the gateway died during the deletion: a part may have been done, the rest never will be. */
  breakOffDeletion(deletion: Deletion): void {
    deletion.endedAt = ++this.#now
  }

  /** Cancels a deletion that was refused: nothing was done. */
  withdrawDeletion(deletion: Deletion): void {
    this.#deletions.splice(this.#deletions.indexOf(deletion), 1)
  }

  /** Compares a whole history of a device, while no request is in progress. */
  judge(device: number, stream: TelemetryStream, listed: Iterable<number>, place: Place = GATEWAY): HistoryFaults {
    const fates = this.#fates[device]?.[stream] ?? new Map<number, Fate>()
    const deletions = this.#deletions.filter(
      (deletion) =>
        (deletion.device === null || deletion.device === device) &&
        deletion.streams.includes(stream) &&
        place.isDeletedBy(deletion),
    )
    const there = new Set(listed)
    const faults: HistoryFaults = {
      missing: 0,
      excused: 0,
      returned: 0,
      unknown: 0,
      examples: [],
    }
    const note = (fault: string, atMs: number) => {
      if (faults.examples.length < MAX_EXAMPLES)
        faults.examples.push(`${fault}: ${stream} of ${device} at ${new Date(atMs).toISOString()}`)
    }
    for (const [atMs, fate] of fates) {
      const covering = deletions.filter(({ beforeMs }) => atMs < beforeMs)
      if (isSurelyThere(fate, covering)) {
        if (there.has(atMs)) continue
        if (place.isExcused(device, stream, atMs)) {
          faults.excused++
          continue
        }
        faults.missing++
        note('missing', atMs)
      } else if (there.has(atMs) && isSurelyGone(fate, covering)) {
        faults.returned++
        note('returned', atMs)
      }
    }
    for (const atMs of there) {
      if (fates.has(atMs)) continue
      faults.unknown++
      note('never sent', atMs)
    }
    return faults
  }

  /** True if the whole fleet's records of that time were ever included in a deletion by age. */
  wasPurged(stream: TelemetryStream, atMs: number): boolean {
    return this.#deletions.some(
      ({ device, streams, beforeMs }) => device === null && streams.includes(stream) && atMs < beforeMs,
    )
  }

  *#fatesOf(device: number, times: readonly number[]): Generator<Fate> {
    for (const atMs of times) {
      for (const stream of streamsAt(atMs)) {
        const fates = this.#fates[device]?.[stream]
        if (fates === undefined) throw new Error(`no device ${device}`)
        let fate = fates.get(atMs)
        if (fate === undefined) {
          fate = { lastSentAt: 0, confirmedSentAt: 0, lastAcknowledgedAt: 0, unacknowledged: 0 }
          fates.set(atMs, fate)
        }
        yield fate
      }
    }
  }
}

/** True if it was sent after every deletion that could have included it, and acknowledged. */
function isSurelyThere({ confirmedSentAt }: Fate, covering: readonly Deletion[]): boolean {
  return confirmedSentAt > 0 && covering.every(({ endedAt }) => endedAt < confirmedSentAt)
}

/** True if all its transmissions were acknowledged before a deletion began that was confirmed. */
function isSurelyGone(fate: Fate, covering: readonly Deletion[]): boolean {
  if (fate.unacknowledged > 0) return false
  return covering.some(
    ({ isDone, startedAt }) => isDone && Math.max(fate.lastSentAt, fate.lastAcknowledgedAt) < startedAt,
  )
}
