import type { OpenAPIHono } from '@hono/zod-openapi'
import { type ClientAddresses, withAddress } from '#shared/http/client-address.ts'
import { createNotFoundHandler } from '#shared/http/not-found.ts'
import { createErrorHandler } from '#shared/http/problem.ts'
import { noStore, withRequestId } from '#shared/http/request-guards.ts'
import type { Log } from '#shared/log.ts'
import type { PeopleApiDeps } from './deps.ts'
import { createHubPart, type HubEnv } from './env.ts'
import { addPeopleApi } from './people-api.ts'
import { createSyncApi, cursorProblem, type SyncApiDeps } from './sync.ts'

export interface HubAppDeps extends SyncApiDeps, PeopleApiDeps {
  addresses: ClientAddresses
  log: Log
}

/** The HTTP API of a hub: the table of contents. */
export function createHubApp(deps: HubAppDeps): OpenAPIHono<HubEnv> {
  const app = createHubPart()
  const answerError = createErrorHandler<HubEnv>(deps.log)
  app.use(withRequestId)
  app.use(noStore)
  app.use(withAddress(deps.addresses))
  app.route('/sync/v1', createSyncApi(deps))
  addPeopleApi(app, deps)
  app.onError((error, c) => cursorProblem(error, c.var.requestId) ?? answerError(error, c))
  app.notFound(createNotFoundHandler(app))
  return app
}
