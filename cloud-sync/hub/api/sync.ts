import { type Context, Hono } from 'hono'
import { z } from 'zod'
import type { IntentWatch } from '#hub/intent-watch.ts'
import { nextIntents } from '#hub/intents.ts'
import type { PushTimes } from '#hub/push-times.ts'
import type { Continuity } from '#hub/sites/continuity.ts'
import type { SiteKeys } from '#hub/sites/site-keys.ts'
import type { Database } from '#hub/store/database/database.ts'
import { applyLatest } from '#hub/sync/apply-latest.ts'
import { answerAudit } from '#hub/sync/audits.ts'
import { CursorConflictError, LIMITS, registerGateway } from '#hub/sync/hello.ts'
import type { PartDecoder } from '#hub/sync/part-decoder.ts'
import { applyBatches } from '#hub/sync/push.ts'
import { applyRebuilt, offerRebuild, rebuildPage } from '#hub/sync/rebuild.ts'
import type { BodyReservation, SiteBudgets } from '#hub/sync/site-budgets.ts'
import { ForbiddenError, InvalidRequestError, NotFoundError } from '#shared/errors.ts'
import type { RequestEnv } from '#shared/http/api-env.ts'
import { problemOf } from '#shared/http/problem.ts'
import type { Clock } from '#shared/time.ts'
import { rebuildKindSchema, rebuildPageQuerySchema, rebuiltSchema } from '#shared/wire/replication/rebuild.ts'
import { MAX_REMEMBERED_INTENT_SEQ } from '#shared/wire/replication/replicated.ts'
import {
  auditSchema,
  HUB_TIME_HEADER,
  helloSchema,
  latestSchema,
  pushSchema,
  SYNC_PROTOCOL,
} from '#shared/wire/replication/sync.ts'
import { parseBody, readJson, SlowBodyError } from './sync-body.ts'

export interface SyncApiDeps {
  database: Database
  siteKeys: SiteKeys
  budgets: SiteBudgets
  continuity: Continuity
  decoder: PartDecoder
  intentWatch: IntentWatch
  pushTimes: PushTimes
  clock: Clock
  /** Days that data erased by a site stays archived; 0 keeps none. */
  erasedKeepDays: number
  /** Timeout of a body; 20 s by default. */
  bodyTimeoutMs?: number
}

interface SyncEnv {
  Variables: RequestEnv['Variables'] & { siteId: string; body: BodyReservation }
}

const MAX_WAIT_S = 55

const protocolSchema = z.looseObject({ protocol: z.number().int() })
const siteSchema = z.looseObject({ site: z.string() })
const intentsQuerySchema = z.object({
  // an older gateway may have stored any number that a hostile hub once sent
  after: z
    .string()
    .regex(/^\d{1,20}$/)
    .default('0')
    .transform((text) => Math.min(Number(text), MAX_REMEMBERED_INTENT_SEQ)),
  wait: z
    .string()
    .regex(/^\d{1,4}$/)
    .default('0')
    .transform(Number),
})

/** Endpoints for gateways: `/sync/v1`. */
export function createSyncApi(deps: SyncApiDeps): Hono<SyncEnv> {
  const app = new Hono<SyncEnv>()
  const { budgets, siteKeys } = deps
  const storing = { ...deps, keepsErased: deps.erasedKeepDays > 0 }

  app.use(async (c, next) => {
    await next()
    c.header(HUB_TIME_HEADER, String(Math.round(deps.clock.nowMs())))
  })
  app.use(async (c, next) => {
    const siteId = await siteKeys.authenticate(c.req.header('authorization'), c.var.address)
    budgets.takeRequest(siteId)
    c.set('siteId', siteId)
    await next()
  })
  app.use(async (c, next) => {
    if (c.req.method !== 'POST') return next()
    const body = budgets.reserveBody(c.var.siteId)
    c.set('body', body)
    try {
      await next()
    } finally {
      body.release()
    }
  })
  const readBody = async (c: Context<SyncEnv>): Promise<unknown> => {
    try {
      const limits = { maxBytes: LIMITS.body_bytes, onBytes: c.var.body.add, timeoutMs: deps.bodyTimeoutMs }
      return await readJson(c.req.raw, limits)
    } catch (error) {
      if (error instanceof SlowBodyError) budgets.refused.add('body_timeout')
      throw error
    }
  }

  app.post('/hello', async (c) => {
    const body = await readBody(c)
    const { protocol } = parseBody(protocolSchema, body)
    if (protocol > SYNC_PROTOCOL) {
      throw new InvalidRequestError(
        'unsupported_protocol',
        `this hub supports sync protocols up to ${SYNC_PROTOCOL}: update the hub before its gateways`,
      )
    }
    const { siteId } = c.var
    if (parseBody(siteSchema, body).site !== siteId) {
      throw new ForbiddenError('wrong_site', `this key belongs to the site ${siteId}`)
    }
    return c.json(await registerGateway(deps, siteId, parseBody(helloSchema, body)))
  })
  app.post('/push', async (c) => {
    const push = parseBody(pushSchema, await readBody(c))
    return c.json(await deps.pushTimes.measure(() => applyBatches(storing, c.var.siteId, push)))
  })
  app.post('/latest', async (c) => {
    const latest = parseBody(latestSchema, await readBody(c))
    return c.json(await applyLatest(storing, c.var.siteId, latest))
  })
  app.post('/audit', async (c) => {
    const audit = parseBody(auditSchema, await readBody(c))
    return c.json(await answerAudit(deps, c.var.siteId, audit))
  })
  app.get('/rebuild', async (c) => c.json(await offerRebuild(deps, c.var.siteId)))
  app.get('/rebuild/:kind', async (c) => {
    const kind = rebuildKindSchema.safeParse(c.req.param('kind'))
    if (!kind.success) throw new NotFoundError('not_found', 'a hub gives back nothing of this name')
    const query = rebuildPageQuerySchema.safeParse(c.req.query())
    if (!query.success) throw new InvalidRequestError('invalid_cursor', 'after or since cannot be read')
    const { after, since } = query.data
    return c.json(await rebuildPage(deps, c.var.siteId, { kind: kind.data, after, since }))
  })
  app.post('/rebuild', async (c) => {
    const rebuilt = parseBody(rebuiltSchema, await readBody(c))
    return c.json(await applyRebuilt(deps, c.var.siteId, rebuilt))
  })
  app.get('/intents', async (c) => {
    const query = intentsQuerySchema.safeParse(c.req.query())
    if (!query.success) {
      throw new InvalidRequestError('invalid_number', 'after and wait must be whole numbers')
    }
    const { after, wait } = query.data
    const waitMs = Math.min(wait, MAX_WAIT_S) * 1000
    const admit = () => siteKeys.authenticate(c.req.header('authorization'), c.var.address)
    return c.json(await nextIntents(deps, c.var.siteId, { after, waitMs, signal: c.req.raw.signal, admit }))
  })
  return app
}

/** Returns the response to a cursor conflict, with the cursors of the hub; null for all other errors. */
export function cursorProblem(error: Error, requestId: string): Response | null {
  if (!(error instanceof CursorConflictError)) return null
  const { status, body, headers } = problemOf(error, requestId)
  return new Response(JSON.stringify({ ...body, cursors: error.cursors }), { status, headers })
}
