import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { runImport } from '#scripts/commands/import/run-import.ts'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import { Workbench } from '#scripts/rig/processes.ts'
import { CommandFolder } from '#scripts/testing/command-folder.ts'
import { ApiClient } from '#shared/client.ts'
import { toIso } from '#shared/time.ts'
import { ADMIN_KEY } from '#testing/start-gateway.ts'

const RECORDS = 20_000
const FROM_MS = Date.UTC(2026, 0, 1)

test('a gateway that is killed in the middle and comes back gets everything, once', async () => {
  const folder = new CommandFolder()
  const env = { CARTBARN_ADMIN_API_KEY: ADMIN_KEY }
  const options = { entry: ENTRY, dataDir: folder.file('data'), env }
  let gateway = await startGateway(new Workbench(), options)
  const { ports } = gateway
  const url = `http://127.0.0.1:${ports.http}`
  try {
    const client = new ApiClient({ url, apiKey: ADMIN_KEY })
    await client.call('POST /devices', { body: { hardware_id: 'cart-1', device_type: 'teebox' } })
    const stored = async () => (await client.call('GET /devices/{id}/telemetry/stats', { path: { id: 'cart-1' } })).gps
    const rows = Array.from({ length: RECORDS }, (_, i) => `${toIso(FROM_MS + i * 1000)},1,${i / 1e4}`)
    writeFileSync(folder.file('track.csv'), `time,lat,lon\n${rows.join('\n')}\n`)
    const importing = folder.run(runImport, ['--url', url, '--device', 'cart-1', 'track.csv'])
    while ((await stored()) === 0) await new Promise(setImmediate)
    await gateway.process.stop('SIGKILL')
    gateway = await startGateway(new Workbench(), { ...options, ports })
    const { code, out, err } = await importing
    assert.deepEqual([code, await stored()], [0, RECORDS], `${out}${err}`)
    assert.match(err, /no answer from the gateway/)
  } finally {
    await gateway.process.stop('SIGKILL')
    folder.remove()
  }
})
