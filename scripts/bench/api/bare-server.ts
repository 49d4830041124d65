import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { answerCalls } from '#scripts/rig/calls.ts'

/** Process of the reference server: Hono and nothing else. */

/** Listens with a JSON text for each path, in Hono's notation; returns the port. */
function listen(answers: readonly { path: string; body: string }[]): Promise<number> {
  const app = new Hono()
  for (const { path, body } of answers) {
    app.get(path, (c) => c.body(body, 200, { 'content-type': 'application/json' }))
  }
  return new Promise((resolve) => {
    serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => resolve(port))
  })
}

const functions = answerCalls({ listen })

export type BareServerFunctions = typeof functions
