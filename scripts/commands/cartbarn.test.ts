import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { bareEnvironment } from '#shared/testing/bare-environment.ts'
import { eventually } from '#shared/testing/eventually.ts'

const KEY = 'flt_admin_key_for_commands_0123456789'

function start(
  argv: readonly string[],
  settings: Record<string, string> = {},
  cwd: string = process.cwd(),
): ChildProcess {
  const env = bareEnvironment({
    CARTBARN_HOST: '127.0.0.1',
    CARTBARN_HTTP_PORT: '0',
    CARTBARN_MQTT_PORT: '0',
    ...settings,
  })
  return spawn(process.execPath, [ENTRY, ...argv], { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] })
}

async function run(argv: readonly string[], settings: Record<string, string> = {}) {
  const child = start(argv, settings)
  assert.ok(child.stdout !== null && child.stderr !== null)
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { out, err, code }
}

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-command-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Starts a program and collects its output; it is killed after the test, if it still runs. */
async function startListening(t: TestContext, argv: readonly string[], settings: Record<string, string>, cwd?: string) {
  const child = start(argv, settings, cwd)
  t.after(() => child.kill('SIGKILL'))
  let out = ''
  child.stdout?.on('data', (chunk) => {
    out += chunk
  })
  let err = ''
  child.stderr?.on('data', (chunk) => {
    err += chunk
  })
  await eventually(() => out.includes('"listening"'), 'listening')
  const http = /"http":"([^"]+)"/.exec(out)?.[1] ?? assert.fail(out)
  const request = (path: string, key: string) => fetch(`${http}${path}`, { headers: { 'x-api-key': key } })
  return { child, request, out: () => out, err: () => err }
}

test('without a command, or with --help, it prints all commands', async () => {
  const { out, err, code } = await run([])
  assert.deepEqual([err, code], ['', 0])
  for (const name of [
    'run',
    'hub',
    'import',
    'export',
    'sync-export',
    'sync-import',
    'devices',
    'simulate',
    'demo',
    'admin-key',
    'version',
  ])
    assert.match(out, new RegExp(`^  ${name} +\\S`, 'm'))
  assert.deepEqual(await run(['--help']), { out, err, code })
})

test('version and --version print the version', async () => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))
  const printed = { out: `cartbarn ${version}\n`, err: '', code: 0 }
  assert.deepEqual([await run(['version']), await run(['--version'])], [printed, printed])
})

for (const [argv, message] of [
  [['exprt'], /^cartbarn: unknown command 'exprt' \(Did you mean export\?\) \(see --help\)\n$/],
  [['--exprt'], /^cartbarn: unknown option '--exprt' \(see --help\)\n$/],
  [['run', '--colour'], /^run: unknown option '--colour' \(see --help\)\n$/],
  [['run', 'now'], /^run: too many arguments.* \(see --help\)\n$/],
  [['demo', '--config'], /^demo: option '--config <file>' argument missing \(see --help\)\n$/],
  [['hub', 'sites'], /^hub: there is no command sites \(see --help\)\n$/],
  [['hub', 'site'], /^hub: a command is needed \(see --help\)\n$/],
  [['hub', 'site', 'move', 'x'], /^hub: unknown command 'move'.* \(see --help\)\n$/],
  [['hub', 'site', 'add', 'Old', 'Course'], /^hub: too many arguments.* \(see --help\)\n$/],
  [['hub', 'site', 'list', '--all'], /^hub: unknown option '--all' \(see --help\)\n$/],
  [['devices', 'remove'], /^devices: unknown command 'remove'.* \(see --help\)\n$/],
  [['devices', 'add'], /^devices add: missing required argument 'file' \(see --help\)\n$/],
  [['sync-import'], /^sync-import: missing required argument 'file' \(see --help\)\n$/],
  [['sync-export', '--key', 'k'], /^sync-export: either --out or --receipt is needed \(see --help\)\n$/],
  [['simulate', '--carts', '0'], /^simulate: .*--carts .* a whole number from 1 to 5000.* \(see --help\)\n$/],
] as const) {
  test(`cartbarn ${argv.join(' ')} is rejected in one line`, async () => {
    const { out, err, code } = await run(argv)
    assert.match(err, message)
    assert.deepEqual([out, code], ['', 2])
  })
}

/** Settings with which no later start would succeed: 78 makes a service manager not try again. */
const BROKEN: Record<string, (folder: string) => [settings: Record<string, string>, message: RegExp]> = {
  'a file that is not there': (folder) => [
    { CARTBARN_CONFIG: join(folder, 'none.conf') },
    /^run: cannot read the configuration file .*none\.conf.* \(see cartbarn run --help\)\n$/,
  ],
  'a half-written file': (folder) => {
    const CARTBARN_CONFIG = join(folder, 'half.conf')
    writeFileSync(CARTBARN_CONFIG, '# the ports\nCARTBARN_HTTP_PORT=8080\nCARTBARN_MQT')
    return [{ CARTBARN_CONFIG }, /^run: line 3 of the configuration file .*half\.conf must be NAME=value.*\n$/]
  },
  'a half-written file of JSON': (folder) => {
    const CARTBARN_CONFIG = join(folder, 'half.json')
    writeFileSync(CARTBARN_CONFIG, '{ "CARTBARN_HTTP_PORT": 80')
    return [{ CARTBARN_CONFIG }, /^run: cannot read the configuration file .*half\.json.*\n$/]
  },
  'a wrong value': () => [{ CARTBARN_HTTP_PORT: 'eighty' }, /CARTBARN_HTTP_PORT: must be a whole number/],
  'an unknown name': () => [{ CARTBARN_COLOUR: 'red' }, /CARTBARN_COLOUR is not a setting/],
  'a secret that is not there': (folder) => [
    { CARTBARN_ADMIN_API_KEY_FILE: join(folder, 'none') },
    /CARTBARN_ADMIN_API_KEY_FILE: cannot be read/,
  ],
  'a certificate that is not there': (folder) => [
    { CARTBARN_TLS_CERT: join(folder, 'none.pem'), CARTBARN_TLS_KEY: join(folder, 'none.pem') },
    /CARTBARN_TLS_CERT/,
  ],
  'a data folder with other files that others may read': (folder) => {
    writeFileSync(join(folder, 'letter.txt'), '')
    chmodSync(folder, 0o755)
    return [{ CARTBARN_DATA_DIR: folder }, /others may read the data folder/]
  },
  'a data folder below a file': (folder) => {
    writeFileSync(join(folder, 'letter.txt'), '')
    return [{ CARTBARN_DATA_DIR: join(folder, 'letter.txt', 'data') }, /cannot create the data folder /]
  },
}
for (const [what, settingsFor] of Object.entries(BROKEN)) {
  test(`${what} ends the gateway with 78`, async (t) => {
    const folder = newFolder(t)
    const [settings, message] = settingsFor(folder)
    const { out, err, code } = await run(['run'], { CARTBARN_DATA_DIR: join(folder, 'data'), ...settings })
    assert.match(`${err}${out}`, message)
    assert.equal(code, 78)
  })
}

test('a taken port, or a data folder in use, ends the gateway with 1, since they may become free', async (t) => {
  const CARTBARN_DATA_DIR = newFolder(t)
  const first = await startListening(t, ['run'], { CARTBARN_DATA_DIR })
  const CARTBARN_HTTP_PORT = new URL(/"http":"([^"]+)"/.exec(first.out())?.[1] ?? assert.fail()).port
  const taken = await run(['run'], { CARTBARN_DATA_DIR: newFolder(t), CARTBARN_HTTP_PORT })
  assert.match(taken.out, /is taken by/)
  const used = await run(['run'], { CARTBARN_DATA_DIR })
  assert.match(used.out, /another cartbarn is using the data folder/)
  assert.deepEqual([taken.code, used.code], [1, 1])
})

test('a demo has its own settings, not those of the service', async (t) => {
  const folder = newFolder(t)
  const CARTBARN_CONFIG = join(folder, 'service.conf')
  writeFileSync(CARTBARN_CONFIG, `CARTBARN_DATA_DIR=${join(folder, 'service')}\n`)
  const { child } = await startListening(t, ['demo'], { CARTBARN_CONFIG }, folder)
  child.kill('SIGTERM')
  await once(child, 'exit')
  assert.deepEqual(readdirSync(folder).sort(), ['demo-data', 'service.conf'])
})

test('the help shows the npm form of a command if npm started it', async () => {
  const usage = async (argv: readonly string[], script: string) =>
    (await run([...argv, '--help'], { npm_lifecycle_event: script })).out.split('\n')[0]
  assert.equal(await usage(['run'], 'start'), 'Usage: npm start -- [options]')
  assert.equal(await usage(['sync-import'], 'sync:import'), 'Usage: npm run sync:import -- [options] <file>')
  assert.equal(await usage(['hub', 'site', 'add'], 'hub'), 'Usage: npm run hub -- site add [options] <name>')
  assert.equal(await usage(['export'], 'test'), 'Usage: cartbarn export [options]')
})

test('admin-key replaces the key of the admin while the gateway is stopped, and only then', async (t) => {
  const settings = { CARTBARN_DATA_DIR: newFolder(t), CARTBARN_ADMIN_API_KEY: KEY }
  const elsewhere = { ...settings, CARTBARN_DATA_DIR: join(settings.CARTBARN_DATA_DIR, 'elsewhere') }
  const empty = await run(['admin-key'], elsewhere)
  assert.deepEqual([empty.out, empty.code], ['', 1])
  assert.match(empty.err, /^admin-key: .* has no database of a gateway/)

  const first = await startListening(t, ['run'], settings)
  assert.equal((await first.request('/users', KEY)).status, 200)
  const refused = await run(['admin-key'], settings)
  assert.deepEqual([refused.out, refused.code], ['', 1])
  assert.match(refused.err, /^admin-key: another cartbarn is using the data folder .*; stop it first\n$/)
  assert.equal((await first.request('/users', KEY)).status, 200, 'the key still opens')
  first.child.kill('SIGTERM')
  await once(first.child, 'exit')

  const replaced = await run(['admin-key'], settings)
  assert.deepEqual([replaced.code, replaced.out], [0, ''], replaced.err)
  const [, path = ''] = /^(\S+admin-key\.txt) has, until its first use, the new key/.exec(replaced.err) ?? []
  const key = readFileSync(path, 'utf8').trim()
  const second = await startListening(t, ['run'], settings)
  assert.equal((await second.request('/users', key)).status, 200)
  assert.equal((await second.request('/users', KEY)).status, 401)
})

test('a gateway with unencrypted access for others warns once in the log and once in plain text', async (t) => {
  for (const [CARTBARN_HOST, times] of [
    ['0.0.0.0', 2],
    ['127.0.0.1', 0],
  ] as const) {
    const { child, out, err } = await startListening(t, ['run'], {
      CARTBARN_DATA_DIR: newFolder(t),
      CARTBARN_HOST,
    })
    child.kill('SIGTERM')
    await once(child, 'close')
    const lines = `${out()}\n${err()}`.split('\n').filter((line) => /HTTP and MQTT without encryption/.test(line))
    assert.equal(lines.length, times)
    assert.doesNotMatch(out() + err(), /flt_/)
    assert.match(err(), /export KEY="\$\(head -n 1 '.*admin-key\.txt'\)"/)
  }
})

test('killing a demo also ends its simulator', async (t) => {
  const { child, out } = await startListening(t, ['demo'], { CARTBARN_DATA_DIR: newFolder(t) })
  await eventually(() => /devices are registered/.test(out()), 'devices')
  child.kill('SIGKILL')
  // the pipe closes when the last process that writes to it has ended
  await once(child, 'close')
})

test('a demo can be stopped and repeated, and does not run if its carts are rejected', async (t) => {
  const CARTBARN_DATA_DIR = newFolder(t)
  // on its data other settings of its key change nothing
  for (const more of [{}, { CARTBARN_ADMIN_API_KEY: KEY }]) {
    const { child, out } = await startListening(t, ['demo'], { CARTBARN_DATA_DIR, ...more })
    await eventually(() => /\d+ carts with \d+ devices are registered/.test(out()), 'devices')
    child.kill('SIGTERM')
    assert.deepEqual(await once(child, 'exit'), [0, null])
    assert.match(out(), /Stopped: \d+ messages sent/)
    assert.match(out(), /"msg":"stopped"/)
  }
  writeFileSync(join(CARTBARN_DATA_DIR, 'demo-key.txt'), `${KEY}\n`)
  const { err, code } = await run(['demo'], { CARTBARN_DATA_DIR })
  assert.equal(code, 1)
  assert.match(err, /simulate: The gateway refuses the key/)
  assert.match(err, /^demo: the simulated course has failed$/m)
})

test('a demo has a separate folder by default', async (t) => {
  const folder = newFolder(t)
  const { child, out } = await startListening(t, ['run', '--demo'], {}, folder)
  await eventually(() => /devices are registered/.test(out()), 'devices')
  child.kill('SIGTERM')
  await once(child, 'exit')
  assert.deepEqual(readdirSync(folder), ['demo-data'])
})

test('a demo on the data of a real course is rejected, even with its key', async (t) => {
  const settings = { CARTBARN_DATA_DIR: newFolder(t), CARTBARN_ADMIN_API_KEY: KEY }
  const first = await startListening(t, ['run'], settings)
  first.child.kill('SIGTERM')
  await once(first.child, 'exit')
  const { err, code } = await run(['demo'], settings)
  assert.equal(code, 1)
  assert.match(
    err,
    /^demo: .* has the data of a gateway that is not a demo.*: set CARTBARN_DATA_DIR to another folder\n$/,
  )
})
