import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { checkUpstream } from '#gateway/doctor/check-upstream.ts'
import { lineOf } from '#gateway/doctor/finding.ts'
import { thisMachine } from '#gateway/doctor/machine.ts'
import { ANY_DATABASE } from '#hub/testing/databases.ts'
import { openHub } from '#hub/testing/open-hub.ts'
import { EXIT } from '#scripts/cli/command.ts'
import { CommandFolder } from '#scripts/testing/command-folder.ts'
import { doctor } from './doctor.ts'

test('the site key is tested at the head office, which stores no data from the test', async (t) => {
  const opened = await openHub(ANY_DATABASE)
  t.after(() => opened.stop())
  const { hub } = opened
  const { siteId, key } = await hub.sites.add('Links')
  const lines = async (upstreamKey: string, url = hub.url()) =>
    (
      await checkUpstream(thisMachine(0), {
        url,
        key: upstreamKey,
        siteId,
        isInsecureAllowed: false,
        holdMs: 0,
        longestBackoffMs: 0,
      })
    ).map(lineOf)
  assert.match((await lines(key)).join('\n'), /^ok .*accepts the site key$/)
  const other = `cbs_${siteId}_${'x'.repeat(43)}`
  assert.match((await lines(other)).join('\n'), /^wrong .*rejects the site key: get a new one from the hub/)
  const web = createServer((_request, response) => response.writeHead(404).end()).listen(0, '127.0.0.1')
  t.after(() => web.close())
  await once(web, 'listening')
  // it listens at a port, not at a pipe
  const { port } = web.address() as AddressInfo
  assert.match((await lines(key, `http://127.0.0.1:${port}`)).join('\n'), /^wrong .*is not a hub/)
})

test('for a stopped gateway it reports failures, exits with 1, and writes a bundle for support', async (t) => {
  const folder = new CommandFolder()
  t.after(() => folder.remove())
  const data = folder.file('data')
  const settings = { DATA_DIR: data, HTTP_PORT: 0, MQTT_PORT: 0, BACKUP_TO: '/mnt/no-such-stick/cartbarn' }
  const passphrase = { BACKUP_PASSPHRASE: 'the nineteenth hole' }
  writeFileSync(folder.file('settings.json'), JSON.stringify({ ...settings, ...passphrase }))
  const argv = ['--config', 'settings.json', '--bundle', 'support.json.gz']
  const { code, out, err } = await folder.run(doctor, argv)
  assert.equal(code, EXIT.failed)
  assert.match(out, /^wrong {2}backups .*no disk is mounted/m)
  assert.match(out, /^mind {3}data folder .*is not there yet/m)
  assert.match(out, /^\d+ wrong, \d+ to mind, \d+ ok\..*when-something-is-wrong/m)
  assert.match(err, /gunzip -c .*support\.json\.gz/)
  const bundle = JSON.parse(gunzipSync(readFileSync(folder.file('support.json.gz'))).toString())
  assert.deepEqual([bundle.health, bundle.metrics, bundle.rows], [null, null, null])
  assert.equal(bundle.settings.CARTBARN_DATA_DIR, data)
  assert.ok(!existsSync(data), 'it made nothing')
  const again = await folder.run(doctor, argv)
  assert.equal(again.code, EXIT.failed)
  assert.match(again.err, /the bundle was not written|gunzip/)
})
