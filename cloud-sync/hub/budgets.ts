import { Budgets } from '#shared/budgets/budgets.ts'
import { FAILED_KEYS } from '#shared/budgets/failed-keys.ts'
import type { MonotonicClock } from '#shared/time.ts'

/** Burst of requests with one key, in seconds of its rate. */
const BURST_S = 4
/** Maximum number of long histories that a user reads simultaneously. */
const DOWNLOADS = 4

/** Limits of the hub that count per budget key. `requestsPerSecond` 0 means no limit. */
export function createHubBudgets(requestsPerSecond: number, clock: MonotonicClock) {
  const budgets = new Budgets(['failed_keys', 'requests', 'downloads'], clock)
  return {
    refused: budgets.refused,
    failedKeys: budgets.rates('failed_keys', FAILED_KEYS),
    downloads: budgets.slots('downloads', { perOwner: DOWNLOADS }),
    requests: budgets.rates('requests', {
      perSecond: requestsPerSecond,
      burst: BURST_S * requestsPerSecond,
    }),
  }
}

export type HubBudgets = ReturnType<typeof createHubBudgets>
