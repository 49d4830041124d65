import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { UnauthenticatedError } from '#shared/errors.ts'
import { json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { sessionTokenIn } from '#shared/http/session-cookie.ts'
import { geofenceDownloadQuerySchema, geofenceIdParams, groupGeofencesSchema } from '#shared/wire/geofences.ts'
import { type ApiEnv, admitSession, createApi, isPlain, requireAdmin } from './api-env.ts'
import type { DevicesDeps, NetworkDeps, PeopleDeps, ZonesDeps } from './deps.ts'
import { requireGeofences, toGroupGeofencesJson } from './geofences.ts'
import { answerTagged, Representations } from './representations.ts'

/** `/geofences/:id/download`: accepts a token in place of an admin's key, so it is mounted before the key check. */
export function createGeofenceDownloadApi(
  deps: PeopleDeps & DevicesDeps & ZonesDeps & NetworkDeps,
): OpenAPIHono<ApiEnv> {
  const { geofenceTokens, keyGuard, plainHttp } = deps
  const api = createApi()
  // a fleet that received the command fetch_geofences requests the same zones simultaneously
  const representations = new Representations(toGroupGeofencesJson)

  function admit(c: Context<ApiEnv>, id: number, token = ''): void {
    const apiKey = c.req.header('x-api-key')
    if (apiKey !== undefined) {
      const login = keyGuard.admit(apiKey, c.var.address)
      requireAdmin(login)
      if (isPlain(c)) plainHttp?.noteLogin(login, c.var.address)
      return
    }
    const cookie = token === '' ? sessionTokenIn(c.req.header('cookie')) : undefined
    if (cookie !== undefined) requireAdmin(admitSession(c, deps, cookie))
    else if (token === '')
      throw new UnauthenticatedError('invalid_token', 'send a token of fetch_geofences or an admin key')
    else {
      const admitted = keyGuard.admitToken(token, c.var.address, geofenceTokens)
      const { row } = geofenceTokens.require(admitted, id)
      if (isPlain(c)) plainHttp?.noteDevice(row.hardwareId, c.var.address)
    }
  }

  api.openapi(
    route.get('/geofences/{id}/download', 'Download the zones of a group', {
      description:
        'All zones that apply to the group, including those of the site. For cartcaddies: needs the token of the ' +
        'command fetch_geofences, or the key or session of an admin. Answers 304 if If-None-Match has ' +
        'the current ETag.',
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
      requireGeofences(deps, id)
      return answerTagged(c, representations.of(deps.geofences.allOf(id)))
    },
  )

  return api
}
