import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { answerCalls } from '#scripts/rig/calls.ts'

/** Process of a server that only serialises and compresses one value, again for each request. */

const compress = promisify(gzip)

/** Returns the port; `text` is the JSON of the value. */
function listen(path: string, text: string): Promise<number> {
  const app = new Hono()
  const value: unknown = JSON.parse(text)
  app.get(path, async (c) => {
    const body = await compress(JSON.stringify(value))
    return c.body(new Uint8Array(body), 200, {
      'content-type': 'application/json',
      'content-encoding': 'gzip',
      'content-length': String(body.length),
    })
  })
  return new Promise((resolve) => {
    serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => resolve(port))
  })
}

const functions = answerCalls({ listen })

export type BareListFunctions = typeof functions
