import type { z } from 'zod'
import type { Config } from '#gateway/config.ts'
import { originOf, requestLocal } from '#shared/http/request-local.ts'
import { healthSchema } from '#shared/wire/system.ts'

/** The gateway as it answers now. */
export interface Running {
  health: z.infer<typeof healthSchema>
  /** True if the key is an admin's, so that `health` has all. */
  isAdmin: boolean
  /** Asks as an admin; null without a key, or for any answer but 200. */
  read(path: string): Promise<string | null>
}

/** The gateway of these settings; undefined when it does not answer. `key` is an admin's. */
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
    // a member that only admins are sent, and always
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
