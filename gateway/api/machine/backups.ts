import type { OpenAPIHono } from '@hono/zod-openapi'
import { inOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { answers, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { isoOrNull, toIso } from '#shared/time.ts'
import { backupsQuerySchema, backupsSchema, startedBackupSchema } from '#shared/wire/backups.ts'
import { NOT_IN_A_BACKUP } from '#store/backups/backup-exclusions.ts'
import { type ApiEnv, adminOnly, createApi } from '../api-env.ts'
import type { MachineDeps } from '../deps.ts'

/** `/backups`: status of the nightly backups, and a backup on request. For admins. */
export function createBackupsApi({ backups }: MachineDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    listRoute('/backups', 'Get how the backups are', {
      description:
        'Target of the nightly backups, those present after the last good one, and the time of the next. The ' +
        'target is not read: a USB stick may have been removed since. For admins.',
      middleware: [adminOnly],
      request: { query: backupsQuerySchema },
      responses: answers(backupsSchema, 'The nightly backups; state none if they are not set.', 400, 403),
    }),
    (c) => {
      const { status, nextMs } = backups
      const lacks = [...NOT_IN_A_BACKUP]
      if (status === null)
        return c.json(
          {
            target: null,
            state: 'none' as const,
            last_good_at: null,
            overdue: false,
            last_error: null,
            next_at: null,
            keep: null,
            lacks,
            backups: [],
          },
          200,
        )
      const { target, isRunning, isHeld, lastGoodMs, isOverdue, fault, triedAtMs, keep, stay } = status
      return c.json(
        {
          target,
          state: stateOf(isRunning, isHeld),
          last_good_at: isoOrNull(lastGoodMs),
          overdue: isOverdue,
          last_error: fault === null ? null : { at: toIso(triedAtMs ?? 0), detail: fault },
          next_at: isoOrNull(nextMs),
          keep,
          lacks,
          backups: inOrder(stay, c.req.valid('query').order).map(({ number, atMs, rows, bytes }) => {
            return { number, at: toIso(atMs), rows, bytes }
          }),
        },
        200,
      )
    },
  )

  api.openapi(
    route.post('/backups', 'Make a backup now', {
      description:
        'Starts a backup to the target of the nightly ones, which continues in the background; GET /backups ' +
        'returns its result. Recorded in the audit log. For admins.',
      middleware: [adminOnly],
      responses: { 202: json(startedBackupSchema, 'The backup has started.'), ...problems(403, 409) },
    }),
    async (c) => {
      await backups.begin()
      return c.json({ success: true as const }, 202)
    },
  )

  return api
}

function stateOf(isRunning: boolean, isHeld: boolean): 'running' | 'other_machine' | 'idle' {
  if (isRunning) return 'running'
  return isHeld ? 'other_machine' : 'idle'
}
