import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import { type OpenAPIHono, z } from '@hono/zod-openapi'
import { ConflictError } from '#shared/errors.ts'
import { attachment } from '#shared/http/attachment.ts'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body, json, problems, streamed } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import type { SyncAuditStatus, SyncStatus, SyncStreamStatus } from '#shared/sync-status.ts'
import { isoOrNull, toIso } from '#shared/time.ts'
import { AUDIT_KINDS } from '#shared/wire/replication/sync.ts'
import { syncFileReceiptSchema, takenReceiptSchema } from '#shared/wire/replication/sync-file.ts'
import { type SyncStatusJson, startedAuditSchema, syncStatusSchema } from '#shared/wire/sync-status.ts'
import { type ApiEnv, adminOnly, createApi } from './api-env.ts'
import type { NetworkDeps } from './deps.ts'

const GZIP = 'application/gzip'

const NOT_CONFIGURED: SyncStatusJson = {
  configured: false,
  state: 'not_configured',
  explanation:
    'This gateway has no hub, and needs none. To replicate it, set CARTBARN_UPSTREAM_URL, ' +
    'CARTBARN_UPSTREAM_KEY and CARTBARN_SITE_ID.',
  details: null,
}

function toSyncStatusJson(status: SyncStatus): SyncStatusJson {
  const { state, explanation, lastContactMs, lastError, retryInMs, timeToGoMs } = status
  return {
    configured: true,
    state,
    explanation,
    details: {
      upstream: status.host,
      site: status.site,
      epoch: status.epoch,
      forked_from: status.forkedFrom,
      last_contact_at: isoOrNull(lastContactMs),
      last_error: lastError === null ? null : { at: toIso(lastError.atMs), detail: lastError.detail },
      retry_in_s: retryInMs === null ? null : Math.round(retryInMs / 100) / 10,
      warnings: [...status.warnings],
      clock_offset_ms: status.clockOffsetMs,
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
    stream,
    trouble,
    acked_seq: ackedSeq,
    acked_rows: ackedRows,
    waiting_rows: waitingRows,
    oldest_at: isoOrNull(oldestMs),
  }
}

function toAuditJson({ state, unconfirmedRows, last }: SyncAuditStatus) {
  if (last === null) return { state, unconfirmed_rows: unconfirmedRows, last }
  const { startedAtMs, endedAtMs, isEverything, counts } = last
  return {
    state,
    unconfirmed_rows: unconfirmedRows,
    last: {
      started_at: toIso(startedAtMs),
      ended_at: toIso(endedAtMs),
      is_everything: isEverything,
      counts: AUDIT_KINDS.flatMap((kind) => (counts[kind] === undefined ? [] : [{ kind, ...counts[kind] }])),
    },
  }
}

/** Yields lines of which the first was already read. */
async function* begunWith(first: IteratorResult<string>, rest: AsyncIterable<string>): AsyncGenerator<string> {
  if (first.done !== true) yield first.value
  yield* rest
}

/** `/sync/…`: status of the replication to the hub. For admins. */
export function createSyncApi({ sync }: NetworkDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.get('/sync/status', 'Get the state of the replication to the hub', {
      middleware: [adminOnly],
      responses: answers(syncStatusSchema, 'State, explanation and figures.', 403),
    }),
    async (c) => c.json(sync === undefined ? NOT_CONFIGURED : toSyncStatusJson(await sync.countedStatus()), 200),
  )

  api.openapi(
    route.post('/sync/audit', 'Compare everything with the hub', {
      description:
        'Compares counts and sums of all rows by device and day, and sends the rows that the hub lacks again. GET ' +
        '/sync/status has the result.',
      middleware: [adminOnly],
      responses: {
        202: json(startedAuditSchema, 'The comparison starts as soon as all waiting rows are sent.'),
        ...problems(403, 409),
      },
    }),
    async (c) => {
      await requireSync().audit()
      return c.json({ success: true as const }, 202)
    },
  )

  api.openapi(
    route.get('/sync/export', 'Export the rows that the hub lacks as a file', {
      operationId: 'exportSync',
      description:
        'For a site without a network: carry the file to the hub and post it to /sites/:site/import there. ' +
        'The file is streamed; it is complete only with its last line, which the hub checks. npm run ' +
        'sync:export does this.',
      middleware: [adminOnly],
      responses: {
        200: { description: 'The file.', content: { [GZIP]: { schema: z.string() } } },
        ...problems(403, 409),
      },
    }),
    async (c) => {
      const { site } = requireSync().status
      const lines = requireSync().exportLines(c.req.raw.signal)
      // errors occur before the first line, while a response can still report them
      const first = await lines[Symbol.asyncIterator]().next()
      const file = Readable.from(begunWith(first, lines)).compose(createGzip())
      c.header('content-disposition', attachment(`cartbarn-${site}.sync.gz`))
      return streamed(c, Readable.toWeb(file) as ReadableStream, { 'content-type': GZIP })
    },
  )

  api.openapi(
    route.post('/sync/receipts', 'Confirm that the hub has imported a file', {
      operationId: 'takeSyncReceipt',
      description:
        'The body is the response of the hub to the last file, unchanged. Afterwards the gateway no longer keeps ' +
        'the content of the file for the hub.',
      middleware: [adminOnly, jsonBody],
      request: { body: body(syncFileReceiptSchema) },
      responses: {
        200: json(takenReceiptSchema, 'The gateway has recorded the response of the hub.'),
        ...problems(400, 403, 409, 413, 415),
      },
    }),
    async (c) => {
      await requireSync().takeReceipt(c.req.valid('json'))
      return c.json({ success: true as const }, 200)
    },
  )

  function requireSync() {
    if (sync === undefined)
      throw new ConflictError('sync_not_configured', 'this gateway has no hub; set CARTBARN_UPSTREAM_URL')
    return sync
  }

  return api
}
