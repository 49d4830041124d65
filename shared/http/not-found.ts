import type { OpenAPIHono } from '@hono/zod-openapi'
import type { NotFoundHandler } from 'hono'
import { AppError, NotFoundError } from '#shared/errors.ts'
import { allowedMethods } from './allowed-methods.ts'
import type { RequestEnv } from './api-env.ts'
import { problemOf } from './problem.ts'

/** Answers what no route takes: 404 `not_found`, or 405 where another method is possible. */
export function createNotFoundHandler<Env extends RequestEnv>(app: OpenAPIHono<Env>): NotFoundHandler<Env> {
  return (c) => {
    const allowed = allowedMethods(app.routes, c.req.path)
    const { requestId } = c.var
    if (allowed.length === 0) {
      const { status, body, headers } = problemOf(
        new NotFoundError('not_found', `there is nothing at ${c.req.path}`),
        requestId,
      )
      return c.body(JSON.stringify(body), status, headers)
    }
    const refusal = new AppError('invalid', 'method_not_allowed', `${c.req.method} is not possible here`)
    const { body, headers } = problemOf(refusal, requestId)
    return c.body(JSON.stringify({ ...body, status: 405, title: 'Method Not Allowed' }), 405, {
      ...headers,
      allow: allowed.join(', '),
    })
  }
}
