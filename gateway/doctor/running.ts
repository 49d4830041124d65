import type { z } from 'zod'
import type { Config } from '#gateway/config.ts'
import { originOf, requestLocal } from '#shared/http/request-local.ts'
import { healthSchema } from '#shared/wire/system.ts'

/** Gateway that responds to requests now. */
export interface Running {
  health: z.infer<typeof healthSchema>
  /** True if the key is an admin's, so that `health` is complete. */
  isAdmin: boolean
  /** Sends a GET request with the admin key; null without a key or for any status except 200. */
  read(path: string): Promise<string | null>
}

/** Finds the running gateway of these settings; undefined if it does not respond. `key` is an admin's. */
export async function findRunning(
  { host, httpPort, tls }: Pick<Config, 'host' | 'httpPort' | 'tls'>,
  key: string | undefined,
): Promise<Running | undefined> {
  const origin = originOf(host, httpPort, tls !== undefined)
  const get = (path: string) => requestLocal(`${origin}${path}`, key)
  const answer = await get('/health')
  if (answer === null) return undefined
  const { data: health } = healthSchema.safeParse(parse(answer.text))
  if (health === undefined) return undefined
  return {
    health,
    // the gateway always includes this member for admins, and only for them
    isAdmin: health.subscriptions !== undefined,
    read: async (path) => {
      const found = key === undefined ? null : await get(path)
      return found?.status === 200 ? found.text : null
    },
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
