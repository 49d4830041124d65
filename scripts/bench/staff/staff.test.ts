import { test } from 'node:test'
import { runShort } from '../run-short.ts'
import { runAlerts } from './alerts.ts'
import { runHeartbeat } from './heartbeat.ts'
import { runIngest } from './ingest.ts'
import { runList } from './list.ts'
import { runOrders } from './orders.ts'
import { runRounds } from './rounds.ts'
import { runTabletsReturn } from './tablets-return.ts'

/** Limit for several processes, started one after the other on a machine that may be busy. */
const TEST_LIMIT = { timeout: 300_000 }

/** Set CARTBARN_TEST_LONG=1 to include those that use nothing that the others do not. */
const isLong = process.env.CARTBARN_TEST_LONG !== undefined
const SCENARIOS = {
  heartbeat: runHeartbeat,
  orders: runOrders,
  rounds: runRounds,
  alerts: runAlerts,
  ...(isLong ? { ingest: runIngest, list: runList, tablets: runTabletsReturn } : {}),
}

for (const [name, run] of Object.entries(SCENARIOS)) {
  test(`a short staff run of ${name} yields figures, without lost or rejected requests`, TEST_LIMIT, async (t) => {
    await runShort(t, run)
  })
}
