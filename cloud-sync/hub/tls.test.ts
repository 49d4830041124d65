import assert from 'node:assert/strict'
import { get } from 'node:https'
import { type TestContext, test } from 'node:test'
import { ANY_DATABASE } from '#hub/testing/databases.ts'
import { HUB_CONFIG } from '#hub/testing/open-hub.ts'
import { ConfigError } from '#shared/errors.ts'
import { createLog } from '#shared/log.ts'
import { createKeyPair, KeyPairFolder } from '#shared/testing/key-pairs.ts'
import { createHub, type Hub } from './hub.ts'

const ONE = createKeyPair()

/** Creates a hub that has not started, with a certificate from files. */
async function hubOf(t: TestContext): Promise<{ hub: Hub; folder: KeyPairFolder }> {
  const folder = new KeyPairFolder(ONE)
  const database = await ANY_DATABASE.open()
  const hub = createHub({ ...HUB_CONFIG, tls: folder }, createLog('silent'), { database })
  t.after(async () => {
    await hub.stop()
    folder.remove()
  })
  return { hub, folder }
}

test('with a certificate the hub answers over HTTPS', async (t) => {
  const { hub } = await hubOf(t)
  await hub.start()
  assert.match(hub.url(), /^https:/)
  const status = await new Promise((resolve, reject) => {
    get(`${hub.url()}/health`, { ca: ONE.cert }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode))
    }).on('error', reject)
  })
  assert.equal(status, 200)
})

test('a hub does not start with the key of another certificate, and names the setting', async (t) => {
  const { hub, folder } = await hubOf(t)
  folder.write({ key: createKeyPair().key })
  await assert.rejects(hub.start(), (error) => {
    assert.ok(error instanceof ConfigError)
    assert.match(error.message, /^CARTBARN_HUB_TLS_KEY: does not match the certificate in CARTBARN_HUB_TLS_CERT/)
    return true
  })
})
