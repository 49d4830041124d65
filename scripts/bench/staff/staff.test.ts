import { test } from 'node:test'
import { lookShortly } from '../short-look.ts'
import { runAlerts } from './alerts.ts'
import { runHeartbeat } from './heartbeat.ts'
import { runIngest } from './ingest.ts'
import { runList } from './list.ts'
import { runOrders } from './orders.ts'
import { runRounds } from './rounds.ts'
import { runTabletsReturn } from './tablets-return.ts'

/** Each starts several processes, one after the other, and the machine may have others. */
const TEST_LIMIT = { timeout: 300_000 }

/** Set CARTBARN_TEST_LONG=1 for those too that use nothing that the others do not. */
const isLong = process.env.CARTBARN_TEST_LONG !== undefined
const SCENARIOS = {
  heartbeat: runHeartbeat,
  orders: runOrders,
  rounds: runRounds,
  alerts: runAlerts,
  ...(isLong ? { ingest: runIngest, list: runList, tablets: runTabletsReturn } : {}),
}

for (const [name, run] of Object.entries(SCENARIOS)) {
  test(`a short look at ${name} of staff gives figures, and nothing is lost or refused`, TEST_LIMIT, async (t) => {
    await lookShortly(t, run)
  })
}
