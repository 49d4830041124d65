import type { OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import { isAdmin } from '#domain/access.ts'
import { describeClockFault } from '#services/clock/clock-fault.ts'
import { answers, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { sessionTokenIn } from '#shared/http/session-cookie.ts'
import { isoOrNull, toIso } from '#shared/time.ts'
import { type damagedSchema, type diskUseSchema, healthSchema, statsSchema } from '#shared/wire/system.ts'
import type { DamageFinding } from '#store/damage/findings.ts'
import type { DamagedBlocks } from '#store/telemetry/damaged-blocks.ts'
import { type ApiEnv, adminOnly, createApi, METRICS_PATH, metricsOnly } from './api-env.ts'
import type { DevicesDeps, MachineDeps, NetworkDeps, PeopleDeps, RecordsDeps, ServedDeps } from './deps.ts'
import { toCertificateJson } from './machine/tls.ts'

/** `/health` needs no key, so it is mounted before the key check. */
export function createHealthApi({
  store,
  keyGuard,
  damage,
  databaseCheck,
  diskGuard,
  backups,
  certificate,
  clock,
  clockConfirmation,
  machine,
  realtime,
}: PeopleDeps & RecordsDeps & MachineDeps & NetworkDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.get('/health', 'Get the health of the gateway', {
      description:
        'Needs no key. An invalid key gets the same response as none, and counts as a failed key: a probe is never ' +
        'locked out.',
      responses: {
        200: json(healthSchema, 'The gateway runs; an admin gets details.'),
        503: json(healthSchema, 'The store is unusable, or the gateway is being upgraded.'),
      },
    }),
    (c) => {
      const { isUsable, detail } = store.health
      const health = {
        status: isUsable ? ('ok' as const) : ('error' as const),
        timestamp: toIso(clock.nowMs()),
        clock: clockConfirmation.state,
        ...(machine.detail === null ? {} : { machine: 'other' as const }),
      }
      const apiKey = c.req.header('x-api-key')
      const token = apiKey === undefined ? sessionTokenIn(c.req.header('cookie')) : undefined
      const caller =
        token === undefined ? keyGuard.recognize(apiKey, c.var.address)?.caller : keyGuard.recognizeSession(token)
      const more =
        caller !== undefined && isAdmin(caller)
          ? {
              subscriptions: realtime.summary(),
              ...(detail === null ? {} : { detail }),
              ...toClockFaultJson(clock),
              ...(machine.detail === null ? {} : { machine_detail: machine.detail }),
              ...(damage.summary.blocks === 0 ? {} : { damaged_telemetry: toDamagedJson(damage.summary) }),
              ...(databaseCheck.last === undefined ? {} : { last_check_at: toIso(databaseCheck.last.atMs) }),
              ...toFoundDamageJson(store.damage.all),
              ...toBackupJson(backups),
              ...(certificate === undefined ? {} : { certificate: toCertificateJson(certificate.status) }),
              ...toDiskJson(diskGuard),
              ...toWentBackJson(store.swappedBack),
            }
          : {}
      return isUsable ? c.json({ ...health, ...more }, 200) : c.json({ ...health, ...more }, 503)
    },
  )

  return api
}

function toClockFaultJson(
  clock: MachineDeps['clock'],
): Pick<z.infer<typeof healthSchema>, 'clock_doubt' | 'clock_detail'> {
  const { doubt } = clock
  return doubt === null ? {} : { clock_doubt: doubt, clock_detail: describeClockFault(doubt, clock) }
}

function toFoundDamageJson(findings: readonly DamageFinding[]): Pick<z.infer<typeof healthSchema>, 'damage'> {
  if (findings.length === 0) return {}
  return {
    damage: findings.map(({ foundAtMs, ...finding }) => ({ ...finding, found_at: toIso(foundAtMs) })),
  }
}

function toBackupJson({ status }: MachineDeps['backups']): Pick<z.infer<typeof healthSchema>, 'backup'> {
  if (status === null) return {}
  const { lastGoodMs, isOverdue, fault } = status
  return {
    backup: {
      last_good_at: isoOrNull(lastGoodMs),
      overdue: isOverdue,
      ...(fault === null ? {} : { detail: fault }),
    },
  }
}

function toWentBackJson(swapped: RecordsDeps['store']['swappedBack']): Pick<z.infer<typeof healthSchema>, 'went_back'> {
  if (swapped === undefined) return {}
  const { from, to, atMs, reason } = swapped
  return { went_back: { from, to, at: toIso(atMs), detail: reason } }
}

function toDiskJson({ use, detail }: MachineDeps['diskGuard']): { disk?: z.infer<typeof diskUseSchema> } {
  const { state, usedBytes, budgetBytes } = use
  if (state === 'ok' || detail === null) return {}
  return { disk: { state, used_bytes: usedBytes, budget_bytes: budgetBytes, detail } }
}

function toDamagedJson({ blocks, records, newest }: DamagedBlocks): z.infer<typeof damagedSchema> {
  return {
    blocks,
    records,
    newest: newest.map(({ hardwareId, stream, firstMs, lastMs, count, reason, foundAtMs }) => ({
      hardware_id: hardwareId,
      stream,
      from: toIso(firstMs),
      to: toIso(lastMs),
      records: count,
      reason,
      found_at: toIso(foundAtMs),
    })),
  }
}

/** `/stats` and `/metrics`: state of the gateway, for admins and users with the `metrics` role. */
export function createSystemApi({
  store,
  fleet,
  realtime,
  metrics,
}: DevicesDeps & RecordsDeps & NetworkDeps & ServedDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.get('/stats', 'Get the counts of the gateway', {
      middleware: [adminOnly],
      responses: answers(statsSchema, 'Counts of the whole gateway.', 403),
    }),
    (c) =>
      c.json(
        {
          devices: fleet.size,
          telemetry: store.read.fleetCounts(),
          commands: store.read.commandCount(),
          subscriptions: realtime.summary(),
        },
        200,
      ),
  )

  api.openapi(
    route.get(METRICS_PATH, 'Get all metrics', {
      description:
        'For Prometheus, with the key of an admin or of a user with the role metrics, in X-API-Key or as ' +
        'Authorization: Bearer.',
      middleware: [metricsOnly],
      responses: {
        200: {
          description: 'The Prometheus text format.',
          content: { 'text/plain; version=0.0.4': { schema: z.string() } },
        },
        ...problems(403),
      },
    }),
    async (c) => c.text(await metrics(), 200, { 'content-type': 'text/plain; version=0.0.4' }),
  )

  return api
}
