import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { describeError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import { MINUTE_MS } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { CartAlertState } from './rule-state.ts'
import { isChargeWatched, RESTS_MS, rememberFix, restedFromMs, withRest } from './rule-state.ts'
import type { SiteContext } from './site-context.ts'

/** Age of a movement from which its alert is over, whether it was published or not. */
const MOVED_LATELY_MS = 5 * MINUTE_MS
const WAY_MS = 5 * MINUTE_MS
/** Budget key of the reads in the reader threads. */
const OWNER = 'alerts'

interface RecentHistoryDeps {
  readers: Pick<Store['readers'], 'run'>
  log: Log
}

/**
 * Reads from the history what the rules would remember without a restart: tracks of carts that are locked or out after
 * hours, and resting voltages of the last hours. Reads one cart at a time, queued after requests of users.
 */
export class RecentHistory {
  readonly #deps: RecentHistoryDeps
  readonly #turns = new SerialQueue()

  constructor(deps: RecentHistoryDeps) {
    this.#deps = deps
  }

  idle(): Promise<void> {
    return this.#turns.idle()
  }

  /** Starts the reads due for a cart; their results go into its rule state, evaluated in `context`. */
  readDue(one: CartAlertState, context: SiteContext): void {
    const { memory } = one
    if (memory.fixesRead === 'due') {
      memory.fixesRead = hasMovedLately(one, context) ? 'reading' : 'read'
      if (memory.fixesRead === 'reading') this.#take(() => this.#readFixes(one, context))
    }
    if (memory.restsRead === 'due' && isChargeWatched(one, context)) {
      memory.restsRead = 'reading'
      this.#take(() => this.#readRests(one, context))
    }
  }

  #take(read: () => Promise<void>): void {
    void this.#turns.take(read).catch((error: unknown) => {
      this.#deps.log.warn(
        { reason: describeError(error) },
        'recent history read for alerts failed; continuing with new data',
      )
    })
  }

  async #readFixes(one: CartAlertState, context: SiteContext): Promise<void> {
    try {
      const { position } = one.cart.verdict
      const deviceId = deviceIdOf(one, position?.hardwareId)
      if (position === null || deviceId === undefined) return
      const { atMs } = position.fix
      const range = { deviceId, fromMs: atMs - WAY_MS, toMs: atMs }
      for (const fix of await this.#deps.readers.run('recentFixes', range, { owner: OWNER }))
        rememberFix(one.memory, fix, context)
    } finally {
      one.memory.fixesRead = 'read'
    }
  }

  async #readRests(one: CartAlertState, context: SiteContext): Promise<void> {
    try {
      const { battery, stillSinceMs } = one.cart.verdict
      const deviceId = deviceIdOf(one, battery?.hardwareId)
      const toMs = battery?.restAtMs ?? null
      if (deviceId === undefined || toMs === null) return
      const fromMs = Math.max(toMs - RESTS_MS, restedFromMs(stillSinceMs, context))
      if (fromMs >= toMs) return
      const range = { deviceId, fromMs, toMs }
      for (const reading of await this.#deps.readers.run('recentVoltages', range, { owner: OWNER }))
        one.memory.rests = withRest(one.memory.rests, reading)
    } finally {
      one.memory.restsRead = 'read'
    }
  }
}

function hasMovedLately({ cart: { verdict } }: CartAlertState, { nowMs, isNight }: SiteContext): boolean {
  const isWatched = isNight || verdict.lock?.isLocked === true
  const { stillSinceMs, position } = verdict
  return isWatched && position !== null && stillSinceMs !== null && nowMs - stillSinceMs < MOVED_LATELY_MS
}

function deviceIdOf({ cart }: CartAlertState, hardwareId: string | undefined): number | undefined {
  return cart.devices.find(({ row }) => row.hardwareId === hardwareId)?.row.deviceId
}
