import type { OpenAPIHono } from '@hono/zod-openapi'
import { answers } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { describeFinding, findingKind } from '#shared/wire/machine/findings.ts'
import { acceptedLossSchema, repairsSchema } from '#shared/wire/machine/repairs.ts'
import { certificateSchema } from '#shared/wire/tls.ts'
import { type ApiEnv, adminOnly, createApi } from '../api-env.ts'
import type { MachineDeps } from '../deps.ts'
import { toCertificateJson } from './tls.ts'

/** `/repairs`: faults of the gateway, and what it does about them itself. For admins. */
export function createRepairsApi({ repairs }: MachineDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.get('/repairs', 'Get the faults of the gateway', {
      description:
        'Faults that the gateway finds itself, in the words of the command doctor, which also checks what can only ' +
        'be seen from outside: ports, permissions, the package, the service. For admins.',
      middleware: [adminOnly],
      responses: answers(repairsSchema, 'All faults; none if all is well.', 403),
    }),
    (c) => {
      const findings = repairs.all().map(({ code, values, target = null }) => {
        const { level, action = null } = findingKind(code)
        return { code, level, ...describeFinding(code, values), action, target, values }
      })
      return c.json({ findings }, 200)
    },
  )

  api.openapi(
    route.post('/repairs/accept', 'Accept permanent losses', {
      operationId: 'acceptLoss',
      description:
        'Removes damage that was repaired, and data that is lost, from the findings and /health. Changes no data. ' +
        'Recorded in the audit log. For admins.',
      middleware: [adminOnly],
      responses: answers(acceptedLossSchema, 'The findings are accepted.', 403),
    }),
    async (c) => c.json({ accepted: await repairs.acceptLoss() }, 200),
  )

  api.openapi(
    route.post('/tls/renew', 'Renew the certificate', {
      operationId: 'renewCertificate',
      description:
        "Issues a certificate by the gateway's own authority if one is due, and reads it again; `detail` is the " +
        'reason if that fails. Recorded in the audit log. For admins.',
      middleware: [adminOnly],
      responses: answers(certificateSchema, 'Certificate in use.', 403, 409),
    }),
    async (c) => c.json(toCertificateJson(await repairs.renewCertificate()), 200),
  )

  return api
}
