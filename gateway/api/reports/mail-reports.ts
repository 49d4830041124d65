import type { OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import type { MailReport } from '#services/mail-reports/mail-reports.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { isoOrNull, toIso } from '#shared/time.ts'
import {
  createdMailReportSchema,
  deletedMailReportSchema,
  type MailReportJson,
  mailReportPatchSchema,
  mailReportSchema,
  newMailReportSchema,
} from '#shared/wire/notifiers.ts'
import { oldestListQuerySchema } from '#shared/wire/schema/params.ts'
import { queuedTestSchema } from '#shared/wire/webhooks.ts'
import { type ApiEnv, adminOnly, createApi } from '../api-env.ts'
import type { AlertsDeps, CourseDeps } from '../deps.ts'

const reportIdParams = z.object({ id: z.string().meta({ description: 'report_id' }) })
/** Time of a report without `at`. */
const MORNING = '06:00'

/** `/mail-reports`: the summary of a day or month by e-mail. For admins. */
export function createMailReportsApi({ mailReports, site }: AlertsDeps & CourseDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  function toMailReportJson(row: MailReport): MailReportJson {
    return {
      report_id: row.reportId,
      to: row.recipient,
      report: row.report,
      at: row.at,
      language: row.language ?? site.settings.language,
      created_at: toIso(row.createdAtMs),
      last_sent_at: isoOrNull(row.lastSentAtMs),
      last_for: row.lastFor,
      last_error: row.lastError,
      next_at: isoOrNull(row.nextAtMs),
    }
  }

  api.openapi(
    listRoute('/mail-reports', 'List reports by e-mail', {
      description: 'For admins.',
      middleware: [adminOnly],
      request: { query: oldestListQuerySchema },
      responses: answers(z.array(mailReportSchema), 'All reports by e-mail, oldest first.', 400, 403),
    }),
    (c) => c.json(inOrder(mailReports.all(), c.req.valid('query').order).map(toMailReportJson), 200),
  )

  api.openapi(
    route.post('/mail-reports', 'Send a report by e-mail', {
      description:
        'One mail for each day or month, with the summary as text, HTML and CSV; none for a day on which the course ' +
        'was closed and no cart was out. The gateway retries for 24 hours; after a stop it sends only the newest ' +
        'one. For admins; at most 20.',
      middleware: [adminOnly, jsonBody],
      request: { body: body(newMailReportSchema) },
      responses: {
        201: json(createdMailReportSchema, 'The report is sent from the next day or month on.'),
        ...problems(400, 403, 409, 413, 415),
      },
    }),
    async (c) => {
      const { to, report, at = MORNING, language = null } = c.req.valid('json')
      const made = await mailReports.create({ recipient: to, report, at, language })
      c.header('location', `/mail-reports/${made.reportId}`)
      return c.json({ report: toMailReportJson(made) }, 201)
    },
  )

  api.openapi(
    route.patch('/mail-reports/{id}', 'Change a report by e-mail', {
      description: 'A merge patch (RFC 7396): an omitted field stays unchanged; null restores its default. For admins.',
      middleware: [adminOnly, jsonBody],
      request: { params: reportIdParams, body: body(mailReportPatchSchema) },
      responses: answers(mailReportSchema, 'The report as it is now.', 400, 403, 404, 413, 415),
    }),
    async (c) => {
      const { to, report, at, language } = c.req.valid('json')
      const changed = await mailReports.change(c.req.valid('param').id, {
        ...(to === undefined ? {} : { recipient: to }),
        ...(report === undefined ? {} : { report }),
        ...(at === undefined ? {} : { at: at ?? MORNING }),
        ...(language === undefined ? {} : { language }),
      })
      return c.json(toMailReportJson(changed), 200)
    },
  )

  api.openapi(
    route.delete('/mail-reports/{id}', 'Delete a report by e-mail', {
      description: 'For admins.',
      middleware: [adminOnly],
      request: { params: reportIdParams },
      responses: answers(deletedMailReportSchema, 'The report is deleted.', 403, 404),
    }),
    async (c) => {
      const { id } = c.req.valid('param')
      await mailReports.delete(id)
      return c.json({ success: true as const, deleted: id }, 200)
    },
  )

  api.openapi(
    route.post('/mail-reports/{id}/test', 'Test a report by e-mail', {
      description: 'Sends the report of the last complete day or month immediately. For admins.',
      middleware: [adminOnly],
      request: { params: reportIdParams },
      responses: {
        202: json(queuedTestSchema, 'The mail is sent, with retries until it arrives.'),
        ...problems(403, 404, 409),
      },
    }),
    async (c) => {
      const delivery_id = await mailReports.test(c.req.valid('param').id)
      return c.json({ success: true as const, delivery_id }, 202)
    },
  )

  return api
}
