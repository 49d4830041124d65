import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { z } from 'zod'
import type { Login } from '#services/people/login.ts'
import type { Session } from '#services/people/session.ts'
import type { SignInCredential } from '#services/people/sign-in.ts'
import { NotFoundError, UnauthenticatedError } from '#shared/errors.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { requireOwnOrigin } from '#shared/http/own-origin.ts'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { clearedSessionCookie, sessionCookie, sessionTokenIn } from '#shared/http/session-cookie.ts'
import { toIso } from '#shared/time.ts'
import { oldestListQuerySchema } from '#shared/wire/schema/params.ts'
import {
  currentSessionSchema,
  meSchema,
  newPairingCodeSchema,
  newPersonSchema,
  newSessionSchema,
  pairingCodeSchema,
  sessionSchema,
  signedOutSchema,
} from '#shared/wire/sessions.ts'
import { KEY_WARNING, rotatedKeySchema } from '#shared/wire/users.ts'
import { type ApiEnv, adminOnly, admitSession, createApi, isSecure } from './api-env.ts'
import type { CourseDeps, MachineDeps, NetworkDeps, PeopleDeps } from './deps.ts'
import { toMeJson, toSessionJson } from './json/session-json.ts'
import { secureOrigin } from './trust/secure-origin.ts'

const sessionIdParams = z.object({ id: z.string().meta({ description: 'session_id' }) })

/** Name of a session that was opened with a key. */
const BROWSER = 'browser'

/** `POST /sessions` and `GET /sessions/current` need no key, so they are mounted before the key check. */
export function createSignInApi(deps: PeopleDeps & CourseDeps & MachineDeps & NetworkDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.post('/sessions', 'Sign a browser in', {
      description:
        'With a pairing code, the setup code, an API key, or an access request that an admin has approved. The ' +
        'cookie in the response then replaces a key: HttpOnly, for 400 days after its last use. A request that ' +
        'may change data needs the Origin of this gateway too.',
      middleware: [jsonBody],
      request: { body: body(newSessionSchema) },
      responses: { 201: json(meSchema, 'Signed in; as GET /me.'), ...problems(400, 403, 413, 415) },
    }),
    async (c) => {
      requireOwnOriginIfAny(c)
      const { session, token, login } = await deps.signIn.begin(toProof(c.req.valid('json')), c.var.address)
      // the earlier cookie is replaced
      const before = deps.sessions.find(sessionTokenIn(c.req.header('cookie')) ?? '')
      if (before !== undefined) await deps.sessions.end(before.row.sessionId)
      deps.sessions.isCookieDue(session, isSecure(c))
      c.header('set-cookie', sessionCookie(token, isSecure(c)))
      c.header('location', `/sessions/${session.row.sessionId}`)
      return c.json(toMeJson(login, deps), 201)
    },
  )

  api.openapi(
    route.get('/sessions/current', 'Get who is signed in', {
      operationId: 'getSignedIn',
      description:
        'Reads only the cookie, and needs none: a newly opened page requests this, because a browser reports ' +
        'every 401 as an error. The response also has the TLS address of that page, if there is one, and on a new ' +
        'gateway the location of the setup code.',
      responses: answers(currentSessionSchema, 'Who is signed in, or null.'),
    }),
    (c) => {
      const login = signedIn(c, deps)
      const { setupCodeFile } = deps.firstAdminKey
      const setUp = setupCodeFile === undefined ? {} : { setup_code_file: setupCodeFile }
      return c.json({ me: login === null ? null : toMeJson(login, deps), ...setUp, ...tlsFor(c, deps) }, 200)
    },
  )

  return api
}

/** Returns the TLS address of a page that was loaded over plain HTTP, if it has one. */
function tlsFor(
  c: Context<ApiEnv>,
  { certificate, authority }: NetworkDeps,
): Pick<z.infer<typeof currentSessionSchema>, 'tls'> {
  const own = c.var.ownOrigin()
  // the gateway does not know the TLS address of a proxy
  if (!own?.startsWith('http:') || c.req.header('x-forwarded-for') !== undefined) return {}
  const host = new URL(own).hostname.replace(/^\[(.*)\]$/, '$1')
  if (certificate?.isFor(host) !== true) return {}
  return { tls: { url: secureOrigin(own), guide: authority() === undefined ? null : `${own}/trust` } }
}

/** Returns the login of the request's cookie; null without a cookie or if it has ended. */
function signedIn(c: Context<ApiEnv>, deps: PeopleDeps & CourseDeps & MachineDeps & NetworkDeps): Login | null {
  const token = sessionTokenIn(c.req.header('cookie'))
  try {
    return token === undefined ? null : admitSession(c, deps, token)
  } catch (error) {
    if (error instanceof UnauthenticatedError) return null
    throw error
  }
}

/** `/sessions` and `/pairing-codes`: signed-in browsers, and the PIN user of a tablet. */
export function createSessionsApi(deps: PeopleDeps & CourseDeps & MachineDeps & NetworkDeps): OpenAPIHono<ApiEnv> {
  const { sessions, persons, pairingCodes } = deps
  const api = createApi()

  api.openapi(
    listRoute('/sessions', 'List the browsers that are signed in', {
      description: 'For admins.',
      middleware: [adminOnly],
      request: { query: oldestListQuerySchema },
      responses: answers(z.array(sessionSchema), 'All sessions, oldest first.', 400, 403),
    }),
    (c) =>
      c.json(
        inOrder(sessions.all(), c.req.valid('query').order).map((session) => toSessionJson(session, deps)),
        200,
      ),
  )

  api.openapi(
    route.delete('/sessions/current', 'Sign out', {
      operationId: 'signOut',
      description: 'Ends the session of the cookie, closes its open connections and responses, and clears the cookie.',
      responses: answers(signedOutSchema, 'Signed out.', 403, 404),
    }),
    async (c) => {
      const { sessionId } = requireSession(c.var.user).row
      await sessions.end(sessionId)
      c.header('set-cookie', clearedSessionCookie(isSecure(c)))
      return c.json({ success: true as const, deleted: sessionId }, 200)
    },
  )

  api.openapi(
    route.post('/sessions/current/person', 'Act as a person on this tablet', {
      operationId: 'beginPerson',
      description:
        'With the PIN of the person. From then on the tablet has the lower of both roles and the devices that ' +
        'both see, and actions are attributed to the person: until DELETE, or ten minutes without a change or a ' +
        'command. Five wrong PINs lock the person on this tablet for five minutes, twenty within an hour on all ' +
        'tablets for an hour.',
      middleware: [jsonBody],
      request: { body: body(newPersonSchema) },
      responses: answers(meSchema, 'The person is signed in with the PIN; as GET /me.', 400, 403, 404, 413, 415),
    }),
    async (c) => {
      const session = requireSession(c.var.user)
      const { user_id, pin } = c.req.valid('json')
      await persons.begin(session, user_id, pin)
      return c.json(toMeJson(c.var.user, deps), 200)
    },
  )

  api.openapi(
    route.delete('/sessions/current/person', 'Stop acting as a person', {
      operationId: 'endPerson',
      responses: answers(meSchema, 'The tablet acts as itself; as GET /me.', 403, 404),
    }),
    async (c) => {
      await persons.end(requireSession(c.var.user))
      return c.json(toMeJson(c.var.user, deps), 200)
    },
  )

  api.openapi(
    route.post('/sessions/current/key', 'Make the key of the first admin', {
      operationId: 'makeSetUpKey',
      description:
        'For the browser that signed in with the setup code, as often as needed until a user signs in with the ' +
        'key, which ends the set-up session. Revokes the previous key immediately.',
      responses: answers(rotatedKeySchema, 'The new key, which only this response shows.', 403, 404),
    }),
    async (c) => {
      const apiKey = await deps.setUp.makeKey(requireSession(c.var.user))
      return c.json({ success: true as const, api_key: apiKey, warning: KEY_WARNING }, 200)
    },
  )

  api.openapi(
    route.delete('/sessions/{id}', 'End a session', {
      description: 'Closes its open connections and responses immediately. For admins.',
      middleware: [adminOnly],
      request: { params: sessionIdParams },
      responses: answers(signedOutSchema, 'The session has ended.', 403, 404),
    }),
    async (c) => {
      const { id } = c.req.valid('param')
      await sessions.end(id)
      return c.json({ success: true as const, deleted: id }, 200)
    },
  )

  api.openapi(
    route.post('/pairing-codes', 'Make a code that signs a tablet in', {
      description: 'The code opens one session of the user within five minutes. For admins.',
      middleware: [adminOnly, jsonBody],
      request: { body: body(newPairingCodeSchema) },
      responses: {
        201: json(pairingCodeSchema, 'The code, which only this response shows.'),
        ...problems(400, 403, 404, 409, 413, 415),
      },
    }),
    async (c) => {
      const { user_id, name } = c.req.valid('json')
      const { code, expiresAtMs } = await pairingCodes.create({ userId: user_id, name })
      const url = `${deps.config.publicUrl ?? c.var.ownOrigin() ?? ''}/app/#pair=${code}`
      // the path where the code is redeemed; an address with the code in it would end up in logs
      c.header('location', '/sessions')
      return c.json({ code, expires_at: toIso(expiresAtMs), url }, 201)
    },
  )

  return api
}

/** Throws `foreign_origin` for a page of a different origin; programs may omit the header. */
export function requireOwnOriginIfAny(c: Context<ApiEnv>): void {
  const origin = c.req.header('origin')
  if (origin !== undefined) requireOwnOrigin(origin, c.var.ownOrigin())
}

/** Throws `session_not_found` for a caller with a key. */
function requireSession({ session }: Login): Session {
  if (session !== null) return session
  throw new NotFoundError('session_not_found', 'this request has a key and no session; sign in with POST /sessions')
}

/** The schema accepts exactly one of the three. */
function toProof(given: z.infer<typeof newSessionSchema>): SignInCredential {
  const { code, api_key, name = BROWSER, request_id = '', secret = '' } = given
  if (code !== undefined) return { code }
  if (api_key !== undefined) return { apiKey: api_key, name }
  return { requestId: request_id, secret }
}
