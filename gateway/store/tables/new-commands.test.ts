import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { NEW_COMMAND } from '#domain/commands.ts'
import { DAY_MS } from '#shared/time.ts'
import type { Connection } from '../db/connection.ts'
import { migrate } from '../migrate.ts'
import { openForSetup } from '../writer/open.ts'
import { type CommandRow, countCommands, listUnfinishedCommands } from './commands.ts'
import { createDevice } from './devices.ts'
import { findIdempotencyKey } from './idempotency-keys.ts'
import { createCommands, withdrawCommands } from './new-commands.ts'

const NOW_MS = Date.UTC(2026, 4, 1)
let folder: string
let connection: Connection

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cartbarn-commands-'))
  connection = openForSetup(join(folder, 'cartbarn.db'))
  migrate(connection)
  const device = {
    hardwareId: 'cart-1',
    deviceType: 'teebox',
    name: null,
    mqttPasswordHash: '',
    nowMs: NOW_MS,
  }
  createDevice(connection, { ...device, groupId: null, publication: { version: null, sessionChanges: [] } })
})
afterEach(() => {
  connection.close()
  rmSync(folder, { recursive: true })
})

function row(commandId: string, fields: Partial<CommandRow> = {}): CommandRow {
  return {
    ...NEW_COMMAND,
    commandId,
    hardwareId: 'cart-1',
    shortId: 'x',
    deviceType: 'teebox',
    command: 'locate',
    paramsJson: '{}',
    metadataJson: null,
    ttlS: 60,
    requestedBy: 'u',
    retryOf: null,
    createdAtMs: NOW_MS,
    forced: null,
    ...fields,
  }
}

function create(commands: CommandRow[]) {
  return createCommands(connection, { commands, idempotencyKey: null })
}

test('a withdrawn command is deleted together with its idempotency key', () => {
  const kept = (key: string, id: string) => ({
    userId: 'u',
    key,
    fingerprint: 'f',
    commandIds: [id],
    outcomeJson: '[]',
    createdAtMs: NOW_MS,
  })
  for (const id of ['one', 'two']) {
    createCommands(connection, {
      commands: [row(id)],
      idempotencyKey: kept(`key-${id}`, id),
    })
  }
  withdrawCommands(connection, { commandIds: ['two', 'never there'] })
  assert.deepEqual(
    listUnfinishedCommands(connection).map(({ commandId }) => commandId),
    ['one'],
  )
  assert.equal(countCommands(connection), 1)
  assert.equal(findIdempotencyKey(connection, 'u', 'key-two', NOW_MS), undefined)
  assert.deepEqual(findIdempotencyKey(connection, 'u', 'key-one', NOW_MS), kept('key-one', 'one'))
})

test('a key has the same meaning for a day, and is then forgotten', () => {
  const keyed = (key: string, nowMs: number) =>
    createCommands(connection, {
      commands: [],
      idempotencyKey: {
        userId: 'u',
        key,
        fingerprint: 'f',
        commandIds: [],
        outcomeJson: null,
        createdAtMs: nowMs,
      },
    })
  keyed('a', NOW_MS)
  assert.ok(findIdempotencyKey(connection, 'u', 'a', NOW_MS + DAY_MS - 1) !== undefined)
  assert.equal(findIdempotencyKey(connection, 'u', 'a', NOW_MS + DAY_MS), undefined)
  assert.equal(findIdempotencyKey(connection, 'other', 'a', NOW_MS), undefined)
  keyed('b', NOW_MS + DAY_MS)
  const kept = connection.all<{ key: string }>('SELECT key FROM idempotency_key')
  assert.deepEqual(kept, [{ key: 'b' }])
})

test('a command for an unknown device rejects the whole request', () => {
  assert.throws(() => connection.db.transaction(() => create([row('a'), row('b', { hardwareId: 'gone' })]))(), {
    code: 'device_not_found',
  })
  assert.equal(countCommands(connection), 0)
})

test('unfinished commands are found without scanning finished ones', () => {
  const planOf = (where: string) =>
    connection
      .all<{ detail: string }>(`EXPLAIN QUERY PLAN SELECT seq FROM command WHERE ${where} ORDER BY seq`)
      .map(({ detail }) => detail)
      .join('; ')
  const isUnfinished = "status IN ('pending', 'published', 'acknowledged')"
  assert.match(planOf(isUnfinished), /^SEARCH command /)
  assert.match(planOf(`hardware_id = 'x' AND ${isUnfinished} AND status = 'pending'`), /command_unfinished/)
})
