import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { answerCalls } from '#scripts/rig/calls.ts'

/** Process of the reference server: Hono and nothing else. */

/** Response to a path, in Hono's notation: a JSON text, perhaps serialised and compressed again for each request. */
export interface BareAnswer {
  path: string
  text: string
  isMadeAgain?: boolean
}

const compress = promisify(gzip)
const JSON_TYPE = { 'content-type': 'application/json' }

/** Listens; returns the port. */
function listen(answers: readonly BareAnswer[]): Promise<number> {
  const app = new Hono()
  for (const { path, text, isMadeAgain = false } of answers) {
    const value: unknown = JSON.parse(text)
    app.get(path, async (c) => {
      if (!isMadeAgain) return c.body(text, 200, JSON_TYPE)
      const body = await compress(JSON.stringify(value))
      const head = { 'content-encoding': 'gzip', 'content-length': String(body.length) }
      return c.body(new Uint8Array(body), 200, { ...JSON_TYPE, ...head })
    })
  }
  return new Promise((resolve) => {
    serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => resolve(port))
  })
}

const functions = answerCalls({ listen })

export type BareServerFunctions = typeof functions
