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

const SCENARIOS = {
  ...{ heartbeat: runHeartbeat, ingest: runIngest, list: runList },
  ...{ orders: runOrders, rounds: runRounds, tablets: runTabletsReturn, alerts: runAlerts },
}

for (const [name, run] of Object.entries(SCENARIOS)) {
  test(
    `a short look at ${name} of staff gives figures, and nothing is lost or refused`,
    TEST_LIMIT,
    async (t) => {
      await lookShortly(t, run)
    },
  )
}
