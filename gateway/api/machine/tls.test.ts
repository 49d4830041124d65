import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createKeyPair, KeyPairFolder } from '#shared/testing/key-pairs.ts'
import { DAY_MS } from '#shared/time.ts'
import { deviceIdOf, signToken } from '#testing/course/geofence-token.ts'
import { RealtimeClient } from '#testing/realtime-client.ts'
import { scene } from '#testing/scene.ts'
import { ADMIN_KEY, type Answer, startFor } from '#testing/start-gateway.ts'

const folder = new KeyPairFolder(createKeyPair({ expiresAtMs: Date.UTC(2080, 0, 1) }))
const { g } = scene({ isRealTime: true, settings: folder.settings })
let plainUrl: string
before(() => {
  plainUrl = g.http.replace('https:', 'http:')
})
after(() => folder.remove())

/** Sends a request as a page over TLS does. */
async function overTls(path: string) {
  const answer = await g.app.request(`https://localhost${path}`, { headers: { 'x-api-key': ADMIN_KEY } })
  assert.equal(answer.status, 200)
  return (await answer.json()) as Answer['body']
}

const usedBy = async () => (await overTls('/tls')).plain_http.used_by

test('clients on plain HTTP are listed by name and time, newest first, and TLS clients are not', async () => {
  assert.deepEqual(await usedBy(), [])
  const staff = await g.createUser({ name: 'Printer', role: 'staff', allowed_hardware_ids: ['*'] })
  const headers = { 'x-api-key': staff.key }
  assert.equal((await fetch(`${plainUrl}/carts`, { headers })).status, 200)
  const { cookie, sessionId } = await g.signIn()
  assert.equal((await fetch(`${plainUrl}/me`, { headers: { cookie } })).status, 200)
  // without authentication no use is recorded
  assert.equal((await fetch(`${plainUrl}/carts`)).status, 401)
  assert.equal((await fetch(`${plainUrl}/sessions/current`)).status, 200)
  // excludes requests of the test itself
  const seen = (await usedBy()).filter(({ address }: { address: string }) => address !== 'unknown')
  assert.deepEqual(
    seen.map(({ last_at, ...one }: { last_at: string }) => one),
    [
      { kind: 'session', id: sessionId, name: 'browser', address: '127.0.0.1' },
      { kind: 'user', id: staff.userId, name: 'Printer', address: '127.0.0.1' },
    ],
  )
  const watcher = await RealtimeClient.open(`${plainUrl.replace('http', 'ws')}/realtime`, headers)
  watcher.terminate()
  assert.equal((await usedBy())[0].id, staff.userId)
})

test('a device that downloads its zones over plain HTTP is listed by its hardware_id', async () => {
  const { body: group } = await g.post('/groups', { name: 'Screens' })
  await g.register('screen-1', 'cartcaddie')
  await g.put(`/groups/${group.group_id}/devices/screen-1`)
  const content = { groupId: group.group_id, deviceId: deviceIdOf(g, 'screen-1') }
  const token = signToken(g, { ...content, expiresAtMs: Date.now() + DAY_MS })
  const answer = await fetch(`${plainUrl}/geofences/${group.group_id}/download?token=${token}`)
  assert.equal(answer.status, 200)
  const [{ kind, id, name }] = await usedBy()
  assert.deepEqual([kind, id, name], ['device', 'screen-1', null])
})

test('admins see how long the certificate is valid and why a new one cannot be loaded', async () => {
  const expires_at = '2080-01-01T00:00:00.000Z'
  const { certificate, authority, plain_http } = await overTls('/tls')
  assert.deepEqual([certificate, authority, plain_http.open], [{ expires_at }, null, true])
  folder.write({ cert: 'no certificate', key: 'no key' })
  await g.reloadCertificate()
  const { certificate: shown } = await overTls('/health')
  assert.equal(shown.expires_at, expires_at)
  assert.match(shown.detail, /CARTBARN_TLS_CERT: is not a certificate/)
  const bare = await g.app.request('https://localhost/health')
  const { certificate: hidden } = (await bare.json()) as Answer['body']
  assert.equal(hidden, undefined)
})

test('without TLS the list of plain clients is empty because all connections are plain', async (t) => {
  const other = await startFor(t)
  const { body } = await other.get('/tls')
  assert.deepEqual(body, { certificate: null, authority: null, plain_http: { open: true, used_by: [] } })
})
