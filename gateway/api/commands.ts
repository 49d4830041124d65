import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { z } from 'zod'
import { type Caller, visibleHardwareIds } from '#domain/access.ts'
import type { CommandBody, CommandCaller } from '#services/commands/commands.ts'
import { requireMayForce } from '#services/commands/lock-gate.ts'
import type { CommandRequest } from '#services/commands/request.ts'
import { shownParams } from '#services/commands/shown-params.ts'
import { requireStillIn } from '#services/people/login.ts'
import { paginationOf, requirePage } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { isoOrNull, toIso } from '#shared/time.ts'
import {
  type CommandJson,
  commandIdParams,
  commandListSchema,
  commandSchema,
  commandsQuerySchema,
  deviceCommandsQuerySchema,
  groupCommandsSchema,
  idempotencyHeaders,
  newCommandSchema,
  newGroupCommandSchema,
} from '#shared/wire/commands.ts'
import { groupIdParams } from '#shared/wire/groups.ts'
import { deviceIdParams } from '#shared/wire/schema/params.ts'
import type { CommandRow } from '#store/tables/commands.ts'
import { type ApiEnv, adminOnly, createApi, readerOwnerOf, staffOnly } from './api-env.ts'
import type { CommandsDeps, DevicesDeps } from './deps.ts'

const CREATED = 'The command is recorded, and sent if the device is connected; see status.'
/** Special behaviour of lock commands. */
const SAFE_LOCK =
  'A lock depends on its cart: cart_is_moving while that drives. If its position is old and outside its parking ' +
  'zones, the gateway requests a new position first, and the lock stays pending for up to 15 s.'

/** `/commands`: commands to devices, and their status. */
export function createCommandsApi({
  commands,
  devices,
  groups,
  fleet,
}: DevicesDeps & CommandsDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  function shown(row: CommandRow, caller: Caller): CommandJson {
    const isRemoved = fleet.registrationOf(row.hardwareId)?.shortId !== row.shortId
    return { ...toCommandJson(row, caller), ...(isRemoved ? { device_removed: true } : {}) }
  }

  function pageOf(found: CommandRow[] | null, page: { limit: number; offset: number }, caller: Caller) {
    const rows = requirePage(found)
    return { commands: rows.map((row) => shown(row, caller)), pagination: paginationOf(page, rows) }
  }

  api.openapi(
    route.post('/devices/{id}/commands', 'Send a command', {
      description:
        'Records the command and sends it if the device is connected; otherwise when the device connects before ' +
        'expires_at, and never later. Follow it with GET /commands/{id} or command_status on /realtime. ' +
        `${SAFE_LOCK}`,
      middleware: [jsonBody],
      request: { params: deviceIdParams, headers: idempotencyHeaders, body: body(newCommandSchema) },
      responses: { 202: json(commandSchema, CREATED), ...problems(400, 403, 404, 409, 413, 415) },
    }),
    async (c) => {
      const fields = c.req.valid('json')
      requireMayForce(c.var.user.caller, fields.force)
      const device = devices.requireVisible(c.var.user.caller, c.req.valid('param').id)
      const key = c.req.valid('header')['idempotency-key']
      const asked = await commands.create(device, toRequest(fields), asking(c, key))
      return c.json(answerOne(c, asked), 202)
    },
  )

  api.openapi(
    listRoute('/devices/{id}/commands', 'List the commands of a device', {
      description: 'Newest first.',
      request: { params: deviceIdParams, query: deviceCommandsQuerySchema },
      responses: answers(commandListSchema, 'Commands to the device, newest first.', 400, 403, 404),
    }),
    async (c) => {
      const { hardwareId, shortId } = devices.requireVisible(c.var.user.caller, c.req.valid('param').id).row
      const query = c.req.valid('query')
      const asked = { ...query, hardwareId, shortId, visibleHardwareIds: [hardwareId] }
      return c.json(pageOf(await commands.list(asked, readerOwnerOf(c)), query, c.var.user.caller), 200)
    },
  )

  api.openapi(
    listRoute('/commands', 'List all commands', {
      description: 'Commands to devices in scope, newest first. For staff and admins.',
      middleware: [staffOnly],
      request: { query: commandsQuerySchema },
      responses: answers(commandListSchema, 'Commands to devices in scope, newest first.', 400, 403),
    }),
    async (c) => {
      const { hardware_id, ...query } = c.req.valid('query')
      const registration = hardware_id === undefined ? undefined : fleet.registrationOf(hardware_id)
      const { caller } = c.var.user
      const which = { hardwareId: hardware_id, shortId: registration?.shortId }
      const asked = { ...query, ...which, visibleHardwareIds: visibleHardwareIds(caller) }
      return c.json(pageOf(await commands.list(asked, readerOwnerOf(c)), query, c.var.user.caller), 200)
    },
  )

  api.openapi(
    route.get('/commands/{id}', 'Get a command', {
      description: 'Status of the command, and its result once it has ended.',
      request: { params: commandIdParams },
      responses: answers(commandSchema, 'The command.', 403, 404),
    }),
    (c) => c.json(shown(commands.requireVisible(c.var.user.caller, c.req.valid('param').id), c.var.user.caller), 200),
  )

  api.openapi(
    route.post('/commands/{id}/retry', 'Send a command again', {
      description:
        'Creates a new command that names the old one in retry_of, with the full time to live. Only for commands ' +
        'that failed or timed out. For admins.',
      middleware: [adminOnly],
      request: { params: commandIdParams, headers: idempotencyHeaders },
      responses: {
        202: json(commandSchema, 'A new command with the content of the old one.'),
        ...problems(400, 403, 404, 409),
      },
    }),
    async (c) => {
      const command = commands.requireVisible(c.var.user.caller, c.req.valid('param').id)
      const key = c.req.valid('header')['idempotency-key']
      return c.json(answerOne(c, await commands.retry(command, asking(c, key))), 202)
    },
  )

  api.openapi(
    route.post('/groups/{groupId}/commands', 'Send a command to a group', {
      description:
        'Sends it to each device whose type supports the command; rejected if a device of the group is outside ' +
        'the scope. A lock is checked for each cart: those that must not be locked now are in refused. ' +
        'For staff and admins.',
      middleware: [staffOnly, jsonBody],
      request: { params: groupIdParams, headers: idempotencyHeaders, body: body(newGroupCommandSchema) },
      responses: {
        202: json(groupCommandsSchema, 'A command for each device whose type supports it.'),
        ...problems(400, 403, 404, 409, 413, 415),
      },
    }),
    async (c) => {
      const { groupId } = groups.require(c.req.valid('param').groupId)
      const { device_type, ...fields } = c.req.valid('json')
      const request = { ...toRequest(fields), deviceType: device_type }
      const key = c.req.valid('header')['idempotency-key']
      const asked = await commands.createForGroup(groupId, request, asking(c, key))
      markRepeated(c, asked)
      return c.json(
        {
          group_id: groupId,
          commands: asked.commands.map((row) => toCommandJson(row, c.var.user.caller)),
          refused: asked.outcome.map(({ hardwareId, code }) => ({ hardware_id: hardwareId, code })),
        },
        202,
      )
    },
  )

  return api
}

function toRequest(fields: z.infer<typeof newCommandSchema>): CommandRequest {
  const { command, params, metadata, ttl_seconds, force } = fields
  const request = { command, params: params ?? {}, metadata: metadata ?? null, ttlS: ttl_seconds }
  return force === true ? { ...request, force } : request
}

function asking(c: Context<ApiEnv>, idempotencyKey: string | undefined): CommandCaller {
  const { user } = c.var
  return { caller: user.caller, idempotencyKey, callerNow: () => requireStillIn(user) }
}

function answerOne(c: Context<ApiEnv>, asked: CommandBody) {
  const [command] = asked.commands
  if (command === undefined) throw new Error('no command')
  markRepeated(c, asked)
  c.header('location', `/commands/${command.commandId}`)
  return toCommandJson(command, c.var.user.caller)
}

function markRepeated(c: Context<ApiEnv>, { isRepeated }: Pick<CommandBody, 'isRepeated'>): void {
  if (isRepeated) c.header('idempotency-replayed', 'true')
}

/** Converts a command to the JSON that this caller may see. */
function toCommandJson(row: CommandRow, caller: Caller): CommandJson {
  const { lateAck } = row
  return {
    command_id: row.commandId,
    hardware_id: row.hardwareId,
    device_id: row.shortId,
    device_type: row.deviceType,
    command: row.command,
    params: shownParams(row, caller),
    metadata: row.metadataJson === null ? null : JSON.parse(row.metadataJson),
    status: row.status,
    requested_by: row.requestedBy,
    created_at: toIso(row.createdAtMs),
    expires_at: toIso(row.createdAtMs + row.ttlS * 1000),
    published_at: isoOrNull(row.publishedAtMs),
    acknowledged_at: isoOrNull(row.acknowledgedAtMs),
    completed_at: isoOrNull(row.completedAtMs),
    error: row.error,
    retry_of: row.retryOf,
    forced: row.forced !== null,
    late_ack:
      lateAck === null ? null : { status: lateAck.status, error: lateAck.error, timestamp: toIso(lateAck.atMs) },
  }
}
