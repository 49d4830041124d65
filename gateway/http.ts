import type { createApp } from '#api/app.ts'
import type { ClockConfirmation } from '#services/clock/confirmation.ts'
import type { Restores } from '#services/restores.ts'
import { HttpListener } from '#shared/http/listener.ts'
import { withPortFaults } from '#shared/http/port-fault.ts'
import type { Clock } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { OnUpgrade } from '#store/upgrade/upgrade.ts'
import type { createBudgets } from './budgets.ts'
import type { Config } from './config.ts'
import { EarlyListener } from './early-listener.ts'
import { StartupPage } from './startup-page.ts'
import { createUpgradeHandler, type UpgradeDeps } from './upgrades.ts'

/** Timeout for the body of a request. */
const REQUEST_MS = 60_000
/** Time that requests in progress have at a stop. */
const DRAIN_MS = 1_000

interface HttpDeps extends UpgradeDeps {
  app: ReturnType<typeof createApp>
  config: Config
  budgets: Pick<ReturnType<typeof createBudgets>, 'httpSockets' | 'refused'>
  store: Store
  clock: Clock
  clockConfirmation: Pick<ClockConfirmation, 'state'>
  onUpgrade: OnUpgrade | undefined
  restores: Restores
}

/** Builds the HTTP listener, and the component that opens it early while the database is upgraded. */
export function createHttp(deps: HttpDeps) {
  const { app, config, budgets, addresses, store, clock, clockConfirmation, restores, log } = deps
  const opening = new StartupPage({ restores, nowMs: () => clock.nowMs(), clockState: () => clockConfirmation.state })
  const upgradeToWebSocket = createUpgradeHandler(deps)
  const http = new HttpListener(
    {
      host: config.host,
      port: config.httpPort,
      isSecure: config.tls !== undefined,
      drainMs: DRAIN_MS,
      takesPlain: config.takesPlainHttp,
      addresses,
      sockets: budgets.httpSockets,
      requestMs: REQUEST_MS,
      closed: budgets.refused,
    },
    (request, ...more) => (opening.isDone ? app.fetch(request, ...more) : opening.answer(request)),
    (request, socket, head) => (opening.isDone ? upgradeToWebSocket(request, socket, head) : opening.refuse(socket)),
  )
  const door = new EarlyListener({
    door: withPortFaults(http, 'CARTBARN_HTTP_PORT', 'CARTBARN_HOST'),
    opening,
    store,
    restores,
    log,
    onProgress: deps.onUpgrade,
  })
  return { http, door }
}
