import type { OpenAPIHono } from '@hono/zod-openapi'
import type { MiddlewareHandler } from 'hono'
import { z } from 'zod'
import { ForbiddenError } from '#shared/errors.ts'
import { bytesBodyUpTo, jsonBody } from '#shared/http/request-guards.ts'
import { answers, body, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import {
  foundBackupsSchema,
  listedBackupsQuerySchema,
  MOST_PIECE_BYTES,
  newRestoreSchema,
  pieceSchema,
  restoreStateSchema,
  setUpPlacesSchema,
  startedRestoreSchema,
  uploadedSchema,
  uploadQuerySchema,
} from '#shared/wire/backups.ts'
import { type ApiEnv, adminOnly, createApi } from '../api-env.ts'
import type { MachineDeps } from '../deps.ts'

const BYTES = 'application/octet-stream'
const WHO = 'For the browser that sets up the gateway, or a key of an admin, while the gateway is new.'

/** `/setup`: backups that a new gateway may be restored from. */
export function createSetUpApi({ setUpBackups }: MachineDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()
  const settingUp: MiddlewareHandler<ApiEnv> = async (c, next) => {
    const { session } = c.var.user
    if (session !== null && !session.isSetUp)
      throw new ForbiddenError('set_up_only', 'only the browser that sets up the gateway may do this')
    setUpBackups.requireNew()
    await next()
  }

  api.openapi(
    route.get('/setup/places', 'Find backups at a new gateway', {
      operationId: 'findBackupPlaces',
      description: `Sets and files of backups on disks other than that of the data folder. ${WHO}`,
      middleware: [adminOnly, settingUp],
      responses: answers(setUpPlacesSchema, 'The places.', 403, 409),
    }),
    (c) =>
      c.json({ sticks: setUpBackups.sticks().map((path) => ({ path })), upload_bytes: setUpBackups.uploadBytes }, 200),
  )

  api.openapi(
    route.put('/setup/upload', 'Upload a backup to a new gateway', {
      operationId: 'uploadBackup',
      description:
        'A backup file in pieces of at most 8 MiB, in order. The gateway deletes it a day after the last piece and ' +
        `at its next start. ${WHO}`,
      middleware: [adminOnly, settingUp, bytesBodyUpTo(MOST_PIECE_BYTES, [BYTES])],
      request: {
        query: uploadQuerySchema,
        body: { required: true, content: { [BYTES]: { schema: pieceSchema } } },
      },
      responses: answers(uploadedSchema, 'The piece is stored.', 400, 403, 409, 413, 415),
    }),
    async (c) => {
      const piece = new Uint8Array(await c.req.arrayBuffer())
      const uploaded = await setUpBackups.append(c.req.valid('query').offset, piece)
      return c.json({ success: true as const, upload_bytes: uploaded }, 200)
    },
  )

  api.openapi(
    route.post('/setup/backups', 'List the backups of a place', {
      operationId: 'listBackupsOfPlace',
      description: `Reads the manifests of all backups there; one request at a time. ${WHO}`,
      middleware: [adminOnly, settingUp, jsonBody],
      request: { body: body(listedBackupsQuerySchema) },
      responses: answers(foundBackupsSchema, 'The backups.', 400, 403, 409, 413, 415),
    }),
    async (c) => {
      const { from, passphrase } = c.req.valid('json')
      return c.json({ backups: await setUpBackups.list(from, passphrase) }, 200)
    },
  )

  api.openapi(
    route.post('/setup/restore', 'Restore a backup on a new gateway', {
      operationId: 'restoreBackup',
      description:
        'Checks the backup, then restarts the gateway with its data. Meanwhile only GET /setup/restore/{restore_id} ' +
        `and GET /health are answered. After a failure the gateway is as it was before. ${WHO}`,
      middleware: [adminOnly, settingUp, jsonBody],
      request: { body: body(newRestoreSchema) },
      responses: {
        202: json(startedRestoreSchema, 'The gateway restarts.'),
        ...problems(400, 403, 409, 413, 415),
      },
    }),
    async (c) => c.json({ restore_id: await setUpBackups.restore(c.req.valid('json')) }, 202),
  )

  return api
}

/** `GET /setup/restore/{restore_id}`: mounted before the key check, because the restored gateway has other keys. */
export function createRestoreStateApi({ restores }: MachineDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()
  api.openapi(
    route.get('/setup/restore/{restore_id}', 'Get the state of a restore', {
      operationId: 'getRestoreState',
      description: 'Needs the id and no key. Answered also while the gateway restarts, and for an hour after it.',
      request: { params: z.object({ restore_id: z.string().meta({ description: 'Id from POST /setup/restore.' }) }) },
      responses: answers(restoreStateSchema, 'The state.', 404),
    }),
    (c) => c.json(restores.state(c.req.valid('param').restore_id), 200),
  )
  return api
}
