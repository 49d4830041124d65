import type { OpenAPIHono } from '@hono/zod-openapi'
import type { HubUser } from '#hub/store/users.ts'
import { createApiOf, type RequestEnv } from '#shared/http/api-env.ts'

export interface HubEnv {
  Variables: RequestEnv['Variables'] & {
    user: HubUser
    /** Returns the current user of the key; undefined once the key is revoked. */
    reloadUser: () => Promise<HubUser | undefined>
  }
}

/** Creates a component of the API: routes with schemas; invalid requests get status 400. */
export function createHubPart(): OpenAPIHono<HubEnv> {
  return createApiOf<HubEnv>()
}
