import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { type HubProcess, runHub, runHubCommand } from '#hub/testing/run-hub.ts'
import { SiteClient } from '#hub/testing/site-client.ts'

describe('a hub as a program', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-hub-'))
  const settings = { CARTBARN_HUB_DATA_DIR: join(folder, 'data') }
  let hub: HubProcess | undefined
  after(async () => {
    await hub?.end('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })

  test('keeps sites and their data, through commands while it runs, kill -9 and a clean stop', async () => {
    hub = await runHub(settings)
    assert.equal(statSync(settings.CARTBARN_HUB_DATA_DIR).mode & 0o77, 0, 'for its user only')
    const added = await runHubCommand(['site', 'add', 'Old Course', '--id', 'old-1'], settings)
    assert.equal(added.exitCode, 0, added.stderr)
    const key = /cbs_old-1_\S{43}/.exec(added.stdout)?.[0] ?? ''
    const send = (url: string) => (path: string, init: RequestInit) => fetch(`${url}${path}`, init)
    const site = new SiteClient(send(hub.url), 'old-1', key)
    assert.equal((await site.hello()).status, 200)
    const second = await runHubCommand([], settings)
    assert.equal(second.exitCode, 1)
    assert.match(second.stdout, /another hub is using the data folder/)

    await hub.end('SIGKILL')
    hub = await runHub(settings)
    const again = new SiteClient(send(hub.url), 'old-1', key)
    again.epoch = site.epoch
    assert.equal((await again.hello()).status, 200)
    assert.ok(!hub.output.join('').includes(key))
    const large = await fetch(`${hub.url}/sync/v1/push`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: Buffer.alloc(100_000_000),
    }).then(
      async (response) => ({ status: response.status, text: await response.text() }),
      // it may close the connection without reading the whole body
      () => ({ status: 413, text: 'payload_too_large' }),
    )
    assert.equal(large.status, 413)
    assert.match(large.text, /payload_too_large/)
    assert.equal((await again.hello()).status, 200, 'and goes on')
    assert.match(
      (await runHubCommand(['site', 'list'], settings)).stdout,
      /^old-1 +Old Course {2}\(key in use, last seen/,
    )
    const waiting = again.request('GET', '/intents?after=0&wait=50')
    assert.equal((await again.hello()).status, 200)
    assert.equal(await hub.end('SIGTERM'), 0)
    assert.ok(hub.output.some((line) => line.includes('"msg":"stopped"')))
    // a waiting request gets an empty response, unless the listener closed first
    assert.deepEqual(
      await waiting.then(
        ({ body }) => body.intents ?? [],
        () => [],
      ),
      [],
    )

    assert.match((await runHubCommand(['site', 'rotate', 'old-1'], settings)).stdout, /cbs_old-1_\S{43}/)
  })

  test('warns about unencrypted access only if it listens for other hosts', async () => {
    const warningsFor = async (host: string) => {
      const open = await runHub({ CARTBARN_HUB_DATA_DIR: join(folder, host), CARTBARN_HUB_HOST: host })
      assert.equal(await open.end('SIGTERM'), 0)
      return open.output.filter((line) => line.includes('without encryption')).length
    }
    assert.deepEqual([await warningsFor('0.0.0.0'), await warningsFor('127.0.0.1')], [1, 0])
  })

  test('reports errors in a command or a setting', async () => {
    const unknown = await runHubCommand(['sites'], settings)
    assert.equal(unknown.exitCode, 2)
    assert.match(unknown.stderr, /there is no command sites \(see --help\)/)
    const port = await runHubCommand([], { ...settings, CARTBARN_HUB_PORT: 'http', CARTBARN_HUB_COLOUR: 'red' })
    assert.equal(port.exitCode, 78)
    assert.match(port.stderr, /CARTBARN_HUB_PORT: must be a whole number/)
    assert.match(port.stderr, /CARTBARN_HUB_COLOUR is not a setting of this program/)
    assert.match((await runHubCommand(['--help'], settings)).stdout, /CARTBARN_HUB_DATABASE_URL/)
    assert.match((await runHubCommand(['citus'], settings)).stdout, /create_distributed_table\('segment', 'site_id'/)
  })
})
