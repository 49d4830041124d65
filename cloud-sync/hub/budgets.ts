import { Budgets } from '#shared/budgets/budgets.ts'
import { FAILED_KEYS } from '#shared/budgets/failed-keys.ts'
import type { MonotonicClock } from '#shared/time.ts'

/** Requests a key may make at once, in seconds of its rate. */
const BURST_S = 4
/** Long histories a user reads at once. */
const DOWNLOADS = 4

/** Every limit of the head office that counts per owner. `requestsPerSecond` 0 is no limit. */
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
