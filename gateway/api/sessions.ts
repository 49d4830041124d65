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
import { toMeJson, toSessionJson } from './shown/session-json.ts'
import { secureOrigin } from './trust/secure-origin.ts'

const sessionIdParams = z.object({ id: z.string().meta({ description: 'session_id' }) })

/** What a session is called that was made with a key. */
const BROWSER = 'browser'

/** `POST /sessions` and `GET /sessions/current` need no key; they come before the door. */
export function createSignInApi(deps: PeopleDeps & CourseDeps & MachineDeps & NetworkDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.post('/sessions', 'Sign a browser in', {
      description:
        'With a pairing code, the setup code, an API key, or a request for access that an admin has allowed. The ' +
        'cookie that the answer sets stands for a key from then on: HttpOnly, for 400 days after its last use. ' +
        'Whatever may change something needs the Origin of this gateway beside it.',
      middleware: [jsonBody],
      request: { body: body(newSessionSchema) },
      responses: { 201: json(meSchema, 'Signed in; as GET /me.'), ...problems(400, 403, 413, 415) },
    }),
    async (c) => {
      requireOwnOriginIfAny(c)
      const { session, token, login } = await deps.signIn.begin(toProof(c.req.valid('json')), c.var.address)
      // the cookie of before is replaced
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
        'By the cookie alone, and needs none: a page that has just been opened asks this, because a browser ' +
        'reports every 401 as an error. It also says whether that page could have come over TLS.',
      responses: answers(currentSessionSchema, 'Who is signed in, or null.'),
    }),
    (c) => {
      const login = signedIn(c, deps)
      return c.json({ me: login === null ? null : toMeJson(login, deps), ...tlsFor(c, deps) }, 200)
    },
  )

  return api
}

/** Where a page that came over plain HTTP is over TLS, if it is. */
function tlsFor(
  c: Context<ApiEnv>,
  { certificate, authority }: NetworkDeps,
): Pick<z.infer<typeof currentSessionSchema>, 'tls'> {
  const own = c.var.ownOrigin()
  // the address of a proxy is not ours to judge
  if (!own?.startsWith('http:') || c.req.header('x-forwarded-for') !== undefined) return {}
  const host = new URL(own).hostname.replace(/^\[(.*)\]$/, '$1')
  if (certificate?.isFor(host) !== true) return {}
  return { tls: { url: secureOrigin(own), guide: authority() === undefined ? null : `${own}/trust` } }
}

/** Whose cookie came with a request; null for none, and for one that is not valid any more. */
function signedIn(c: Context<ApiEnv>, deps: PeopleDeps & CourseDeps & MachineDeps & NetworkDeps): Login | null {
  const token = sessionTokenIn(c.req.header('cookie'))
  try {
    return token === undefined ? null : admitSession(c, deps, token)
  } catch (error) {
    if (error instanceof UnauthenticatedError) return null
    throw error
  }
}

/** `/sessions` and `/pairing-codes`: which browsers are signed in, and who acts on a tablet. */
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
      description: 'Ends the session of the cookie, closes what is open for it, and clears the cookie.',
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
        "both see, and what is done is the person's doing: until DELETE, or ten minutes without a change or a " +
        'command. Five wrong PINs lock the person on this tablet for five minutes, twenty within an hour on all ' +
        'tablets for an hour.',
      middleware: [jsonBody],
      request: { body: body(newPersonSchema) },
      responses: answers(meSchema, 'The person acts; as GET /me.', 400, 403, 404, 413, 415),
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
      responses: answers(meSchema, 'Nobody in particular acts; as GET /me.', 403, 404),
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
        'For the browser that came in with the setup code, as often as it is needed until somebody signs in with ' +
        'the key: that ends the session of the set-up. The key before is void at once.',
      responses: answers(rotatedKeySchema, 'The new key, which only this response shows.', 403, 404),
    }),
    async (c) => {
      const apiKey = await deps.setUp.makeKey(requireSession(c.var.user))
      return c.json({ success: true as const, api_key: apiKey, warning: KEY_WARNING }, 200)
    },
  )

  api.openapi(
    route.delete('/sessions/{id}', 'End a session', {
      description: 'Closes what is open for it at once. For admins.',
      middleware: [adminOnly],
      request: { params: sessionIdParams },
      responses: answers(signedOutSchema, 'The session is over.', 403, 404),
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
        201: json(pairingCodeSchema, 'The code, which only this answer shows.'),
        ...problems(400, 403, 404, 409, 413, 415),
      },
    }),
    async (c) => {
      const { user_id, name } = c.req.valid('json')
      const { code, expiresAtMs } = await pairingCodes.create({ userId: user_id, name })
      const url = `${deps.config.publicUrl ?? c.var.ownOrigin() ?? ''}/app/#pair=${code}`
      // where it is used; an address with the code in it would end in logs
      c.header('location', '/sessions')
      return c.json({ code, expires_at: toIso(expiresAtMs), url }, 201)
    },
  )

  return api
}

/** Throws `foreign_origin` for a page of somebody else; programs need not say where they are from. */
export function requireOwnOriginIfAny(c: Context<ApiEnv>): void {
  const origin = c.req.header('origin')
  if (origin !== undefined) requireOwnOrigin(origin, c.var.ownOrigin())
}

/** Throws `session_not_found` for a caller with a key. */
function requireSession({ session }: Login): Session {
  if (session !== null) return session
  throw new NotFoundError('session_not_found', 'this request came with a key, not with a session')
}

/** The schema takes exactly one of the three. */
function toProof(given: z.infer<typeof newSessionSchema>): SignInCredential {
  const { code, api_key, name = BROWSER, request_id = '', secret = '' } = given
  if (code !== undefined) return { code }
  if (api_key !== undefined) return { apiKey: api_key, name }
  return { requestId: request_id, secret }
}
