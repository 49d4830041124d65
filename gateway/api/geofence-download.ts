import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { GeofenceSet } from '#services/geofences.ts'
import { UnauthenticatedError } from '#shared/errors.ts'
import { json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { hashSecret } from '#shared/ids.ts'
import {
  geofenceDownloadQuerySchema,
  geofenceIdParams,
  groupGeofencesSchema,
} from '#shared/wire/geofences.ts'
import { type ApiEnv, createApi, requireAdmin } from './api-env.ts'
import type { ApiDeps } from './deps.ts'
import { requireGeofences, toGroupGeofencesJson } from './geofences.ts'

interface Representation {
  text: string
  etag: string
}

/** `/geofences/:id/download`: a token opens it as well as an admin's key, so it comes before the door. */
export function createGeofenceDownloadApi(deps: ApiDeps): OpenAPIHono<ApiEnv> {
  const { geofenceTokens, keyGuard } = deps
  const api = createApi()
  // a fleet that got the command fetch_geofences asks for the same at the same time
  const representations = new WeakMap<GeofenceSet, Representation>()

  function representationOf(set: GeofenceSet): Representation {
    let known = representations.get(set)
    if (known === undefined) {
      const text = JSON.stringify(toGroupGeofencesJson(set))
      // not the version alone: a restored backup may give it to other zones
      known = { text, etag: `"${set.version}-${hashSecret(text).slice(0, 16)}"` }
      representations.set(set, known)
    }
    return known
  }

  function admit(c: Context<ApiEnv>, id: number, token = ''): void {
    const apiKey = c.req.header('x-api-key')
    if (apiKey !== undefined) requireAdmin(keyGuard.admit(apiKey, c.var.address))
    else if (token === '')
      throw new UnauthenticatedError('invalid_token', 'send a token of fetch_geofences or an admin key')
    else {
      const said = keyGuard.admitToken(token, c.var.address, geofenceTokens)
      geofenceTokens.require(said, id)
    }
  }

  api.openapi(
    route.get('/geofences/{id}/download', 'Download the zones of a group', {
      description:
        'For cartcaddies: needs the token that the command fetch_geofences carries, or an admin key. Answers 304 if If-None-Match has the current ETag.',
      security: [],
      request: { params: geofenceIdParams, query: geofenceDownloadQuerySchema },
      responses: {
        200: json(groupGeofencesSchema, 'The zones, with an ETag.'),
        304: { description: 'The zones have not changed since the version in If-None-Match.' },
        ...problems(400, 403, 404),
      },
    }),
    (c) => {
      const { id } = c.req.valid('param')
      admit(c, id, c.req.valid('query').token)
      return answer(c, representationOf(requireGeofences(deps, id)))
    },
  )

  return api
}

// the text was made of what the route's schema says; the types only know values
function answer(c: Context<ApiEnv>, { text, etag }: Representation): never {
  c.header('etag', etag)
  c.header('cache-control', 'private, no-cache')
  if (isMatch(c.req.header('if-none-match'), etag)) return c.body(null, 304) as never
  c.header('content-type', 'application/json')
  return c.body(text, 200) as never
}

/** Whether `If-None-Match` names the tag; weak and strong are the same here. Source: RFC 9110, 13.1.2. */
function isMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  return header.trim() === '*' || [...header.matchAll(/"[^"]*"/g)].some(([tag]) => tag === etag)
}
