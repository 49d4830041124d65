import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Caller } from '#domain/access.ts'
import { AppError } from '#shared/errors.ts'
import { newUuid } from '#shared/ids.ts'
import { createLog } from '#shared/log.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { DAY_MS, toIso } from '#shared/time.ts'
import { Store } from '#store/store.ts'
import { GatewayClock } from '../clock/gateway-clock.ts'
import { type Device, Fleet } from '../fleet.ts'
import { GeofenceTokens } from './geofence-tokens.ts'

const system = new FakeClock()

const ADMIN: Caller = { userId: newUuid(), role: 'admin', allowedHardwareIds: null }

async function open(t: TestContext, groupId: number | null): Promise<{ tokens: GeofenceTokens; device: Device }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-tokens-'))
  const store = new Store({ dataDir, readerThreads: 1, writeQueueRows: 100 }, createLog('silent'))
  await store.start()
  t.after(async () => {
    await store.stop()
    rmSync(dataDir, { recursive: true })
  })
  const fleet = new Fleet()
  const publication = { version: null, sessionChanges: [] }
  const named = { hardwareId: 'screen', deviceType: 'cartcaddie', name: null, groupId: null }
  const newDevice = { ...named, mqttPasswordHash: '', nowMs: 0, publication }
  const row = await store.write('createDevice', newDevice)
  const device = fleet.add({ ...row, groupId })
  const clock = new GatewayClock({ system, isSynchronized: () => false })
  const users = { callerOf: (userId: string) => (userId === ADMIN.userId ? ADMIN : undefined) }
  const tokens = new GeofenceTokens({ store, fleet, geofences: { versionOf: () => 7 }, users, clock })
  await tokens.load()
  return { tokens, device }
}

function codeOf(work: () => unknown): string | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    assert.ok(error instanceof AppError)
    return error.code
  }
}

test('a device receives the address, version and expiry of its zones', async (t) => {
  const { tokens, device } = await open(t, 42)
  const { url, version, expires_at } = tokens.tokenFor(device, ADMIN)
  assert.deepEqual([version, expires_at], [7, toIso(system.nowMs() + DAY_MS)])
  const [path, token = ''] = url.split('?token=')
  assert.equal(path, '/geofences/42/download')
  // contains nothing that a URL would have to escape
  assert.match(token, /^[\w.-]+$/)
  assert.equal(tokens.require(tokens.read(token), 42), device)
  assert.equal(
    codeOf(() => tokens.require(tokens.read(token), 43)),
    'group_forbidden',
  )
  device.row.groupId = null
  assert.equal(
    codeOf(() => tokens.require(tokens.read(token), 42)),
    'invalid_token',
  )
})

test('a device without a group receives the reason why it has no zones to fetch', async (t) => {
  const { tokens, device } = await open(t, null)
  assert.equal(
    codeOf(() => tokens.tokenFor(device, ADMIN)),
    'no_group',
  )
})
