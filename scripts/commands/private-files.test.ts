import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { bareEnvironment } from '#shared/testing/bare-environment.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { ADMIN_KEY, startGateway } from '#testing/start-gateway.ts'

/** Starts a command as a user whose files all users may read and write. */
function startOpen(t: TestContext, argv: readonly string[], settings: Record<string, string>) {
  const child = spawn('sh', ['-c', 'umask 0; exec "$0" "$@"', process.execPath, ENTRY, ...argv], {
    env: bareEnvironment(settings),
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  t.after(() => child.kill('SIGKILL'))
  let out = ''
  child.stdout.on('data', (text) => {
    out += text
  })
  return { child, out: () => out }
}

/** Returns the paths below a folder that other users may open. */
function openTo(folder: string): string[] {
  return [folder, ...readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name)))]
    .filter((path) => (statSync(path).mode & 0o077) !== 0)
    .sort()
}

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-private-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const PROGRAMS: [program: string, settings: (folder: string) => Record<string, string>][] = [
  [
    'run',
    (folder) => ({
      CARTBARN_DATA_DIR: folder,
      CARTBARN_HOST: '127.0.0.1',
      CARTBARN_HTTP_PORT: '0',
      CARTBARN_MQTT_PORT: '0',
    }),
  ],
  ['hub', (folder) => ({ CARTBARN_HUB_DATA_DIR: folder, CARTBARN_HUB_PORT: '0' })],
]
for (const [program, settingsFor] of PROGRAMS) {
  test(`${program}: nothing in the data folder is for others, whatever the umask and the folder were`, async (t) => {
    const folder = newFolder(t)
    const settings = settingsFor(folder)
    // as an installer makes it
    chmodSync(folder, 0o755)
    const first = startOpen(t, [program], settings)
    await eventually(() => first.out().includes('"listening"'), 'listening', 50_000)
    assert.deepEqual(openTo(folder), [])
    first.child.kill('SIGKILL')
    await once(first.child, 'exit')

    // as an earlier version left it
    for (const name of ['.', ...readdirSync(folder)]) chmodSync(join(folder, name), 0o755)
    const second = startOpen(t, [program], settings)
    await eventually(() => second.out().includes('"listening"'), 'listening', 50_000)
    assert.deepEqual(openTo(folder), [])
    second.child.kill('SIGTERM')
    assert.deepEqual(await once(second.child, 'exit'), [0, null])
    assert.deepEqual(openTo(folder), [])
  })
}

test('an export is for its owner only', async (t) => {
  const gateway = await startGateway()
  t.after(() => gateway.stop())
  await gateway.register('cart-1')
  const folder = newFolder(t)
  const whatAndWhere = [
    ['--device', 'cart-1', '--out', join(folder, 'one.csv')],
    ['--all', '--format', 'csv', '--out', join(folder, 'all')],
  ]
  for (const words of whatAndWhere) {
    const argv = ['export', ...words, '--quiet', '--url', gateway.http]
    const { child } = startOpen(t, argv, { CARTBARN_API_KEY: ADMIN_KEY })
    assert.deepEqual(await once(child, 'exit'), [0, null])
  }
  assert.deepEqual(openTo(folder), [])
  assert.equal(readdirSync(folder, { recursive: true }).length, 3)
})
