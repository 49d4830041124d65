import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { backUp } from '#gateway/offline/backups.ts'
import { initTls } from '#gateway/offline/tls-files.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { freePort } from '#shared/testing/free-port.ts'
import type { RestoreState } from '#shared/wire/backups.ts'
import type { BackupPlace } from '#store/backups/place.ts'
import { startGateway, type TestGateway } from '../start-gateway.ts'

export const PASSPHRASE = 'nineteenth'
export const NEW_KEY = 'flt_key_of_the_new_gateway_0123456789'
export const LONG_MS = 60_000

/**
 * Backs up a course with a device and an authority while its gateway runs; returns the password of the device.
 * `change` may change its database first.
 */
export async function courseAt(
  to: BackupPlace,
  passphrase?: string,
  change: (dataDir: string) => void = () => undefined,
): Promise<{ password: string; atMs: number }> {
  const old = await startGateway()
  try {
    const password = await old.register('cart-1')
    await old.patch('/site', { name: 'Old Course' })
    const atMs = Date.now()
    initTls(old.config, { names: [], isReplacing: false, nowMs: atMs })
    change(old.config.dataDir)
    await backUp({ dataDir: old.config.dataDir, to, passphrase, atMs })
    return { password, atMs }
  } finally {
    await old.stop()
  }
}

/** Starts a new gateway whose admin has another key, with a folder for sticks. */
export async function startNew(t: TestContext) {
  const disk = mkdtempSync('/dev/shm/cartbarn-stick-')
  t.after(() => rmSync(disk, { recursive: true, force: true }))
  const given = { CARTBARN_ADMIN_API_KEY: NEW_KEY, CARTBARN_HTTP_PORT: String(await freePort()) }
  const g = await startGateway(given, { stickRoots: [disk] })
  t.after(() => g.stop())
  return { g, disk }
}

/** Requests a restore as the admin of the new gateway. */
export const restore = (g: TestGateway, from: object, more: object = {}) =>
  g.post('/setup/restore', { from, ...more }, { key: NEW_KEY })

/** Requests a restore that is accepted; returns its id. */
export async function begin(g: TestGateway, from: object, more: object = {}): Promise<string> {
  const { status, body } = await restore(g, from, more)
  assert.equal(status, 202, JSON.stringify(body))
  return body.restore_id
}

/** Reads the state over HTTP, also while the listener changes hands. */
export async function readState(url: string, id: string): Promise<RestoreState | null> {
  try {
    const response = await fetch(`${url}/setup/restore/${id}`)
    // of the gateway's own schema
    return response.ok ? ((await response.json()) as RestoreState) : null
  } catch {
    return null
  }
}

/** Waits until a restore has ended. */
export async function ended(url: string, id: string): Promise<RestoreState> {
  let state: RestoreState | null = null
  await eventually(
    async () => {
      state = await readState(url, id)
      return state !== null && state.state !== 'restoring'
    },
    'the end of the restore',
    LONG_MS,
  )
  return state ?? assert.fail()
}

/** Fails unless the old course's settings, key and device are valid, and the new key is not. */
export async function assertRestored(g: TestGateway, password: string): Promise<void> {
  assert.equal((await g.get('/site')).body.name, 'Old Course')
  assert.equal((await g.get('/site', { key: NEW_KEY })).body.code, 'invalid_api_key')
  const device = await g.connect('cart-1', password)
  await device.publishAsync('dev/cart-1/tlm', JSON.stringify({ lat: 51, long: 7 }), { qos: 1 })
  await g.closeClients()
}

/** True for the objects of a bucket that only a restore reads. */
export const isChunk = (key: string) => /\/[0-9a-f]{64}/.test(key)

/** Reads the health over HTTP; null while nothing listens. */
export async function health(url: string): Promise<{ status: string } | null> {
  try {
    // a body that has no status fails the test
    return (await (await fetch(`${url}/health`)).json()) as { status: string }
  } catch {
    return null
  }
}
