import { createInterface } from 'node:readline'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { z } from 'zod'

/**
 * The process of the server to compare with: Hono and nothing else. Its answers as a JSON line on stdin, its port on
 * stdout. Under `/json` it writes them anew for each request.
 */

const answersSchema = z.array(z.object({ path: z.string(), contentType: z.string(), body: z.string() }))

const lines = createInterface({ input: process.stdin })
lines.on('close', () => process.exit(0))
lines.on('line', (line) => {
  const app = new Hono()
  for (const { path, contentType, body } of answersSchema.parse(JSON.parse(line))) {
    const value = JSON.parse(body)
    app.get(path, (c) => c.body(body, 200, { 'content-type': contentType }))
    app.get(`/json${path}`, (c) => c.json(value))
  }
  serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => process.stdout.write(`${port}\n`))
})
