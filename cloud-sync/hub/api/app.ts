import type { OpenAPIHono } from '@hono/zod-openapi'
import { type ClientAddresses, withAddress } from '#shared/http/client-address.ts'
import { compressed, varyByAccepted } from '#shared/http/compressed.ts'
import { createNotFoundHandler } from '#shared/http/not-found.ts'
import { createErrorHandler } from '#shared/http/problem.ts'
import { noStore, withPlainNames, withRequestId } from '#shared/http/request-guards.ts'
import type { PeopleApiDeps } from './deps.ts'
import { createHubPart, type HubEnv } from './env.ts'
import { addPeopleApi } from './people-api.ts'
import { createSyncApi, cursorProblem, type SyncApiDeps } from './sync.ts'

export interface HubAppDeps extends SyncApiDeps, PeopleApiDeps {
  addresses: ClientAddresses
}

export function createHubApp(deps: HubAppDeps): OpenAPIHono<HubEnv> {
  const app = createHubPart()
  const answerError = createErrorHandler<HubEnv>(deps.log)
  app.use(withRequestId)
  app.use(noStore)
  app.use(withAddress(deps.addresses))
  app.route('/sync/v1', createSyncApi(deps))
  app.use(withPlainNames)
  // after the routes of gateways: their responses are short and frequent, and not worth compressing
  app.use(compressed)
  app.use(varyByAccepted)
  addPeopleApi(app, deps)
  app.onError((error, c) => cursorProblem(error, c.var.requestId) ?? answerError(error, c))
  app.notFound(createNotFoundHandler(app))
  return app
}
