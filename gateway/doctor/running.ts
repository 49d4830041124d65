import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { z } from 'zod'
import type { Config } from '#gateway/config.ts'
import { healthSchema } from '#shared/wire/system.ts'

const PATIENCE_MS = 5_000
const MAX_CHARACTERS = 8_000_000

/** The gateway as it answers now. */
export interface Running {
  health: z.infer<typeof healthSchema>
  /** Asks as an admin; null without a key, or for any answer but 200. */
  read(path: string): Promise<string | null>
}

/** The gateway of these settings; undefined when it does not answer. `key` is an admin's. */
export async function findRunning(
  { host, httpPort, tls }: Pick<Config, 'host' | 'httpPort' | 'tls'>,
  key: string | undefined,
): Promise<Running | undefined> {
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  const origin = `${tls === undefined ? 'http' : 'https'}://${name.includes(':') ? `[${name}]` : name}:${httpPort}`
  const get = (path: string) => fetchText(`${origin}${path}`, key)
  const answer = await get('/health')
  if (answer === null) return undefined
  const { data: health } = healthSchema.safeParse(parse(answer.text))
  if (health === undefined) return undefined
  return {
    health,
    read: async (path) => {
      const found = key === undefined ? null : await get(path)
      return found?.status === 200 ? found.text : null
    },
  }
}

// not fetch: on this machine the certificate need not name the address
function fetchText(url: string, key: string | undefined): Promise<{ status: number; text: string } | null> {
  const { promise, resolve } = Promise.withResolvers<{ status: number; text: string } | null>()
  const headers = key === undefined ? {} : { 'x-api-key': key }
  const options = { headers, timeout: PATIENCE_MS, rejectUnauthorized: false, agent: false as const }
  const request = (url.startsWith('https:') ? requestHttps : requestHttp)(url, options, (response) => {
    let text = ''
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => {
      text += chunk
      if (text.length > MAX_CHARACTERS) request.destroy()
    })
    response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    response.on('error', () => resolve(null))
  })
  request.on('timeout', () => request.destroy())
  request.on('error', () => resolve(null))
  request.end()
  return promise
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
