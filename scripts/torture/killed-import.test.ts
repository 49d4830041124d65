import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { runImport } from '#scripts/commands/import/run-import.ts'
import { CommandFolder } from '#scripts/testing/command-folder.ts'
import { ApiClient } from '#shared/client.ts'
import { freePort } from '#shared/testing/free-port.ts'
import { toIso } from '#shared/time.ts'
import { ADMIN_KEY } from '#testing/start-gateway.ts'

const RECORDS = 20_000
const FROM_MS = Date.UTC(2026, 0, 1)

test('a gateway that is killed in the middle and comes back gets everything, once', async () => {
  const folder = new CommandFolder()
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const start = () => startProcess(folder.file('data'), port)
  let gateway = await start()
  try {
    const client = new ApiClient({ url, apiKey: ADMIN_KEY })
    await client.call('POST /devices', { body: { hardware_id: 'cart-1', device_type: 'teebox' } })
    const stored = async () => (await client.call('GET /devices/{id}/telemetry/stats', { path: { id: 'cart-1' } })).gps
    const rows = Array.from({ length: RECORDS }, (_, i) => `${toIso(FROM_MS + i * 1000)},1,${i / 1e4}`)
    writeFileSync(folder.file('track.csv'), `time,lat,lon\n${rows.join('\n')}\n`)
    const importing = folder.run(runImport, ['--url', url, '--device', 'cart-1', 'track.csv'])
    while ((await stored()) === 0) await new Promise(setImmediate)
    await kill(gateway)
    gateway = await start()
    const { code, out, err } = await importing
    assert.deepEqual([code, await stored()], [0, RECORDS], `${out}${err}`)
    assert.match(err, /no answer from the gateway/)
  } finally {
    await kill(gateway)
    folder.remove()
  }
})

/** Resolves when the gateway listens. */
async function startProcess(dataDir: string, port: number): Promise<ChildProcess> {
  const child = spawn(process.execPath, [ENTRY, 'run'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      ...process.env,
      CARTBARN_DATA_DIR: dataDir,
      CARTBARN_HOST: '127.0.0.1',
      CARTBARN_HTTP_PORT: String(port),
      CARTBARN_MQTT_PORT: '0',
      CARTBARN_ADMIN_API_KEY: ADMIN_KEY,
      CARTBARN_REQUESTS_PER_SECOND: '0',
    },
  })
  let output = ''
  for await (const chunk of child.stdout) {
    output += chunk
    if (output.includes('"listening"')) break
  }
  assert.match(output, /"listening"/)
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
