import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { answerCalls } from '#scripts/rig/calls.ts'

/** Process of the reference server: Hono and nothing else. Under `/json` it serialises each response again. */

/** Response of the server to a GET of a path, in Hono's notation. */
export interface BareAnswer {
  path: string
  contentType: string
  body: string
}

/** Returns the port. */
function listen(answers: readonly BareAnswer[]): Promise<number> {
  const app = new Hono()
  for (const { path, contentType, body } of answers) {
    const value = JSON.parse(body)
    app.get(path, (c) => c.body(body, 200, { 'content-type': contentType }))
    app.get(`/json${path}`, (c) => c.json(value))
  }
  return new Promise((resolve) => {
    serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => resolve(port))
  })
}

const functions = answerCalls({ listen })

export type BareServerFunctions = typeof functions
