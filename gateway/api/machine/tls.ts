import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { z } from 'zod'
import { nameOfUse, type UnencryptedUse } from '#services/unencrypted-clients.ts'
import { answers } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { toIso } from '#shared/time.ts'
import { type certificateSchema, tlsSchema } from '#shared/wire/tls.ts'
import { type ApiEnv, adminOnly, createApi } from '../api-env.ts'
import type { DevicesDeps, NetworkDeps, PeopleDeps } from '../deps.ts'
import { plainOrigin } from '../trust/secure-origin.ts'

/** `/tls`: encryption of the course, and the clients that still use none. */
export function createTlsApi(deps: PeopleDeps & DevicesDeps & NetworkDeps): OpenAPIHono<ApiEnv> {
  const { certificate, authority, plainHttp, config } = deps
  const api = createApi()

  api.openapi(
    route.get('/tls', 'Get how connections are encrypted', {
      operationId: 'getTls',
      description: 'The certificate, the authority that tablets must trust, and the users of plain HTTP. For admins.',
      middleware: [adminOnly],
      responses: answers(tlsSchema, 'Encryption of connections.', 403),
    }),
    (c) => {
      const own = authority()
      const answer: z.infer<typeof tlsSchema> = {
        certificate: certificate === undefined ? null : toCertificateJson(certificate.status),
        authority:
          own === undefined
            ? null
            : {
                fingerprint: own.fingerprint256,
                expires_at: toIso(own.validToDate.getTime()),
                guide: config.takesPlainHttp ? guideFor(c, deps) : null,
              },
        plain_http: {
          open: certificate === undefined || config.takesPlainHttp,
          used_by: (plainHttp?.all() ?? []).map((use) => toUseJson(use, deps)),
        },
      }
      return c.json(answer, 200)
    },
  )

  return api
}

export function toCertificateJson({
  expiresAtMs,
  problem,
}: {
  expiresAtMs: number
  problem: string | null
}): z.infer<typeof certificateSchema> {
  return { expires_at: toIso(expiresAtMs), ...(problem === null ? {} : { detail: problem }) }
}

function guideFor(c: Context<ApiEnv>, { config }: NetworkDeps): string | null {
  const origin = config.publicUrl ?? c.var.ownOrigin()
  return origin === undefined ? null : `${plainOrigin(origin)}/trust`
}

function toUseJson(
  use: UnencryptedUse,
  deps: PeopleDeps & DevicesDeps,
): z.infer<typeof tlsSchema>['plain_http']['used_by'][number] {
  const { kind, id, address, lastMs } = use
  return { kind, id, name: nameOfUse(use, deps), address, last_at: toIso(lastMs) }
}
