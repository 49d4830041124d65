import type { OpenAPIHono } from '@hono/zod-openapi'
import { createApiOf, type RequestEnv } from '../../../shared/http/api-env.ts'
import { createNotFoundHandler } from '../../../shared/http/not-found.ts'
import { createErrorHandler } from '../../../shared/http/problem.ts'
import { withRequestId } from '../../../shared/http/request-guards.ts'
import type { Log } from '../../../shared/log.ts'
import { createSyncApi, cursorProblem, type SyncApiDeps } from './sync.ts'

export interface HubAppDeps extends SyncApiDeps {
  log: Log
}

/** The HTTP API of a hub: the table of contents. */
export function createHubApp(deps: HubAppDeps): OpenAPIHono<RequestEnv> {
  const app = createApiOf<RequestEnv>()
  const answerError = createErrorHandler<RequestEnv>(deps.log)
  app.use(withRequestId)
  app.route('/sync/v1', createSyncApi(deps))
  app.onError((error, c) => cursorProblem(error, c.var.requestId) ?? answerError(error, c))
  app.notFound(createNotFoundHandler(app))
  return app
}
