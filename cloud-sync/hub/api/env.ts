import type { OpenAPIHono } from '@hono/zod-openapi'
import type { HubUser } from '#hub/store/users.ts'
import { createApiOf, type RequestEnv } from '#shared/http/api-env.ts'

/** The variables that handlers find on `c.var`. */
export interface HubEnv {
  Variables: RequestEnv['Variables'] & {
    user: HubUser
    /** The user of the key as it is now; undefined once the key is void. */
    reloadUser: () => Promise<HubUser | undefined>
  }
}

/** A part of the API: routes with schemas; what does not fit them is answered with 400. */
export function createHubPart(): OpenAPIHono<HubEnv> {
  return createApiOf<HubEnv>()
}
