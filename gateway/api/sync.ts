import { createRoute, type OpenAPIHono } from '@hono/zod-openapi'
import { ConflictError } from '../../shared/errors.ts'
import { json, problems } from '../../shared/http/responses.ts'
import type { SyncAuditStatus, SyncStatus, SyncStreamStatus } from '../../shared/sync-status.ts'
import { toIso } from '../../shared/time.ts'
import { AUDIT_KINDS } from '../../shared/wire/sync.ts'
import { type SyncStatusJson, startedAuditSchema, syncStatusSchema } from '../../shared/wire/sync-status.ts'
import { type ApiEnv, createApi } from './api-env.ts'
import { adminOnly } from './guards.ts'

export interface SyncApiDeps {
  /** The replication to a head office; undefined without one. */
  sync: { readonly status: SyncStatus; audit(): Promise<void> } | undefined
}

const NOT_CONFIGURED: SyncStatusJson = {
  configured: false,
  state: 'not_configured',
  explanation:
    'This gateway has no head office, and needs none. To have it replicated, set CARTBARN_UPSTREAM_URL, CARTBARN_UPSTREAM_KEY and CARTBARN_SITE_ID.',
  details: null,
}

function toSyncStatusJson(status: SyncStatus): SyncStatusJson {
  const { state, explanation, lastContactMs, lastError, retryInMs, timeToGoMs } = status
  return {
    ...{ configured: true, state, explanation },
    details: {
      upstream: status.host,
      site: status.site,
      epoch: status.epoch,
      forked_from: status.forkedFrom,
      last_contact_at: toIsoOrNull(lastContactMs),
      last_error: lastError === null ? null : { at: toIso(lastError.atMs), detail: lastError.detail },
      retry_in_s: retryInMs === null ? null : Math.round(retryInMs / 100) / 10,
      warnings: [...status.warnings],
      streams: status.streams.map(toStreamJson),
      sent_bytes: status.sentBytes,
      acked_rows: status.ackedRows,
      rows_per_second: Math.round(status.rowsPerSecond * 10) / 10,
      time_to_go_s: timeToGoMs === null ? null : Math.ceil(timeToGoMs / 1000),
      audit: toAuditJson(status.audit),
    },
  }
}

function toStreamJson({ stream, ackedSeq, ackedRows, waitingRows, oldestMs, trouble }: SyncStreamStatus) {
  return {
    ...{ stream, trouble },
    acked_seq: ackedSeq,
    acked_rows: ackedRows,
    waiting_rows: waitingRows,
    oldest_at: toIsoOrNull(oldestMs),
  }
}

function toAuditJson({ state, last }: SyncAuditStatus) {
  if (last === null) return { state, last }
  const { startedAtMs, endedAtMs, isEverything, counts } = last
  return {
    state,
    last: {
      started_at: toIso(startedAtMs),
      ended_at: toIso(endedAtMs),
      is_everything: isEverything,
      counts: AUDIT_KINDS.flatMap((kind) => (counts[kind] === undefined ? [] : [{ kind, ...counts[kind] }])),
    },
  }
}

function toIsoOrNull(atMs: number | null): string | null {
  return atMs === null ? null : toIso(atMs)
}

/** `/sync/…`: how the replication to the head office is doing. For admins. */
export function createSyncApi({ sync }: SyncApiDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    createRoute({
      method: 'get',
      path: '/sync/status',
      summary: 'Ask how the replication to the head office is doing',
      middleware: [adminOnly] as const,
      responses: {
        200: json(syncStatusSchema, 'State, explanation, and the figures behind them.'),
        ...problems(403),
      },
    }),
    (c) => c.json(sync === undefined ? NOT_CONFIGURED : toSyncStatusJson(sync.status), 200),
  )

  api.openapi(
    createRoute({
      method: 'post',
      path: '/sync/audit',
      summary: 'Compare everything with the head office',
      description:
        'Counts and sums of all rows, by device and day; what the head office lacks is sent again. GET /sync/status tells how it went.',
      middleware: [adminOnly] as const,
      responses: {
        202: json(startedAuditSchema, 'It runs as soon as what waits has been sent.'),
        ...problems(403, 409),
      },
    }),
    async (c) => {
      if (sync === undefined)
        throw new ConflictError('sync_not_configured', 'this gateway has no head office to compare with')
      await sync.audit()
      return c.json({ success: true as const }, 202)
    },
  )

  return api
}
