import type { OpenAPIHono } from '@hono/zod-openapi'
import type { NotFoundHandler } from 'hono'
import { methodNotAllowed } from 'hono/method-not-allowed'
import { AppError, NotFoundError } from '#shared/errors.ts'
import type { RequestEnv } from './api-env.ts'
import { problemOf } from './problem.ts'

/** Responds to requests without a route: 404 `not_found`, or 405 if another method exists. */
export function createNotFoundHandler<Env extends RequestEnv>(app: OpenAPIHono<Env>): NotFoundHandler<Env> {
  const refuseMethod = methodNotAllowed<Env>({
    app,
    onMethodNotAllowed: (c, methods) => {
      const refusal = new AppError('invalid', 'method_not_allowed', `this path has no method ${c.req.method}`)
      const { body, headers } = problemOf(refusal, c.var.requestId)
      return c.body(JSON.stringify({ ...body, status: 405, title: 'Method Not Allowed' }), 405, {
        ...headers,
        allow: methods.sort().join(', '),
      })
    },
  })
  return async (c) => {
    const refusal = new NotFoundError('not_found', `there is nothing at ${c.req.path}`)
    const { status, body, headers } = problemOf(refusal, c.var.requestId)
    c.res = c.body(JSON.stringify(body), status, headers)
    // called here so that Hono's middleware costs nothing for existing routes
    await refuseMethod(c, async () => undefined)
    return c.res
  }
}
