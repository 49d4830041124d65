import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { EXIT, type RunCommand } from '#scripts/cli/command.ts'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { bareEnvironment } from '#shared/testing/bare-environment.ts'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { COMMANDS } from './product-commands.ts'

const WRONG_KEY = 'flt_a_key_of_nobody_0123456789_0123456789'
const SITE_KEY = `cbs_links_${'k'.repeat(43)}`

let g: TestGateway
let taken: Server
/** Port in use, and a free one. */
let ports: { taken: string; free: string }
const folder = mkdtempSync(join(tmpdir(), 'cartbarn-exit-'))
const at = (name: string) => join(folder, name)

before(async () => {
  g = await startGateway()
  await g.register('cart-1')
  taken = await listening()
  const gone = await listening()
  ports = { taken: portOf(taken), free: portOf(gone) }
  gone.close()
  writeFileSync(at('half.json'), '{"CARTBARN_HOST": "127.')
  writeFileSync(at('wrong.json'), '{"HTTP_PROT": 8080}')
  writeFileSync(at('file'), 'no folder\n')
  writeFileSync(at('no.gpx'), 'this is no track\n')
  mkdirSync(at('other'))
  writeFileSync(at('other/cartbarn.db'), 'a database of something else, and no SQLite either\n'.repeat(99))
  mkdirSync(at('bare'), { mode: 0o700 })
})
after(async () => {
  taken.close()
  await g.stop()
  rmSync(folder, { recursive: true })
})

async function listening(): Promise<Server> {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

// it listens at a port, not at a pipe
const portOf = (server: Server) => String((server.address() as AddressInfo).port)

function start(argv: readonly string[], settings: Record<string, string> = {}): ChildProcess {
  const env = bareEnvironment({
    CARTBARN_HOST: '127.0.0.1',
    CARTBARN_HTTP_PORT: '0',
    CARTBARN_MQTT_PORT: '0',
    CARTBARN_HUB_PORT: '0',
    CARTBARN_DATA_DIR: at('data'),
    CARTBARN_HUB_DATA_DIR: at('hub-data'),
    CARTBARN_API_KEY: ADMIN_KEY,
    ...settings,
  })
  return spawn(process.execPath, [ENTRY, ...argv], { env, cwd: folder, stdio: ['pipe', 'pipe', 'pipe'] })
}

async function outcomeOf(child: ChildProcess) {
  assert.ok(child.stdout !== null && child.stderr !== null)
  const ended = once(child, 'exit')
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code, signal] = await ended
  return { out, err, code, signal }
}

const nowhere = () => ['--url', `http://127.0.0.1:${ports.free}`]
const noHub = () => ['--hub', `http://127.0.0.1:${ports.free}`]
const gateway = () => ['--url', g.http]
const oneCart = ['--device', 'cart-1', '--out', '-', '--format', 'csv', '--quiet']
const soon = ['--retry-for', '0']
const wrongKey = () => ({ CARTBARN_API_KEY: WRONG_KEY })
const upstream = { CARTBARN_UPSTREAM_URL: 'http://hub.example', CARTBARN_SITE_ID: 'links' }

type Failure = readonly [
  what: string,
  argv: () => readonly string[],
  /** Expected output: on stderr, or in the log. */
  pattern: RegExp,
  settings?: () => Record<string, string>,
]

const FAILURES: readonly Failure[] = [
  ['run: the HTTP port is taken', () => ['run'], /is taken by/, () => ({ CARTBARN_HTTP_PORT: ports.taken })],
  ['run: the MQTT port is taken', () => ['run'], /is taken by/, () => ({ CARTBARN_MQTT_PORT: ports.taken })],
  ['run: the data folder is a file', () => ['run'], /data folder/, () => ({ CARTBARN_DATA_DIR: at('file') })],
  ['run: a half-written config file', () => ['run', '--config', 'half.json'], /half\.json/],
  ['run: a misspelt setting', () => ['run', '--config', 'wrong.json'], /CARTBARN_HTTP_PROT is not a setting/],
  [
    'run: plain HTTP to the head office',
    () => ['run'],
    /UPSTREAM/,
    () => ({ ...upstream, CARTBARN_UPSTREAM_KEY: SITE_KEY }),
  ],
  [
    'run: no certificate where one is named',
    () => ['run'],
    /CARTBARN_TLS_/,
    () => ({ CARTBARN_TLS_CERT: at('no.pem'), CARTBARN_TLS_KEY: at('no.pem') }),
  ],
  ['run: a database that is not ours', () => ['run'], /database/, () => ({ CARTBARN_DATA_DIR: at('other') })],
  [
    'demo: the port is taken',
    () => ['demo'],
    /is taken by/,
    () => ({ CARTBARN_HTTP_PORT: ports.taken, CARTBARN_DATA_DIR: at('demo') }),
  ],
  ['demo: the data of something else', () => ['demo'], /is not a demo/, () => ({ CARTBARN_DATA_DIR: at('other') })],
  ['run --demo: the same', () => ['run', '--demo'], /is not a demo/, () => ({ CARTBARN_DATA_DIR: at('other') })],
  ['hub: the port is taken', () => ['hub'], /is taken by/, () => ({ CARTBARN_HUB_PORT: ports.taken })],
  ['hub: the data folder is a file', () => ['hub'], /folder/, () => ({ CARTBARN_HUB_DATA_DIR: at('file') })],
  [
    'hub site list: no PostgreSQL',
    () => ['hub', 'site', 'list'],
    /database|ECONNREFUSED/,
    () => ({ CARTBARN_HUB_DATABASE_URL: `postgres://x:y@127.0.0.1:${ports.free}/z` }),
  ],
  ['admin-key: not ours', () => ['admin-key'], /database/, () => ({ CARTBARN_DATA_DIR: at('other') })],
  ['repair: no database', () => ['repair', '--data', at('bare')], /no database/],
  ['repair: a database that is not ours', () => ['repair', '--data', at('other')], /database|list of the tables/],
  ['import: no gateway', () => ['import', 'no.gpx', '--device', 'cart-1', ...nowhere(), ...soon], /no\.gpx|gateway/],
  ['import: a file that is no track', () => ['import', 'no.gpx', '--device', 'cart-1', ...gateway()], /no\.gpx/],
  ['import: a file that is not there', () => ['import', 'gone.gpx', '--device', 'cart-1', ...gateway()], /gone\.gpx/],
  ['export: no gateway', () => ['export', ...oneCart, ...nowhere(), ...soon], /^export: the gateway was away/m],
  ['export: a wrong key', () => ['export', ...oneCart, ...gateway()], /invalid_api_key/, wrongKey],
  [
    'export: an unknown device',
    () => ['export', '--device', 'cart-9', '--out', 'a.csv', ...gateway()],
    /device_not_found/,
  ],
  ['export: no such folder', () => ['export', '--device', 'cart-1', '--out', 'gone/a.csv', ...gateway()], /gone/],
  ['export: no key', () => ['export', ...oneCart, ...gateway()], /CARTBARN_API_KEY/, () => ({ CARTBARN_API_KEY: '' })],
  ['sync-export: no gateway', () => ['sync-export', '--out', 'a.gz', ...nowhere()], /^sync-export: /m],
  ['sync-export: a wrong key', () => ['sync-export', '--out', 'a.gz', ...gateway()], /invalid_api_key/, wrongKey],
  ['sync-import: a file of something else', () => ['sync-import', 'no.gpx', ...noHub()], /not a (complete )?file/],
  ['sync-import: a file that is not there', () => ['sync-import', 'gone.gz', ...noHub()], /there is no/],
  ['simulate: no gateway', () => ['simulate', '--carts', '1', ...nowhere()], /^simulate: /m],
  ['simulate: a wrong key', () => ['simulate', '--carts', '1', ...gateway()], /refuses the key/, wrongKey],
  ['simulate --sites: no hub', () => ['simulate', '--sites', '1', ...noHub()], /^simulate: /m],
]

for (const [what, argv, pattern, settings] of FAILURES) {
  test(`${what}: the command ends with an explanation and a code other than 0`, { timeout: 60_000 }, async () => {
    const child = start(argv(), settings?.())
    child.stdin?.end()
    const { out, err, code, signal } = await outcomeOf(child)
    assert.match(out + err, pattern)
    assert.doesNotMatch(err, /^\s+at /m, 'a stack is no sentence')
    assert.ok(code !== null && code !== EXIT.ok, `${code} ${signal}`)
  })
}

test('a command stopped in the middle of its work does not report success', {
  timeout: 120_000,
}, async () => {
  const slow: [argv: string[], isAtWork: (child: ChildProcess) => Promise<unknown>][] = [
    // its file never ends
    [
      ['import', '-', '--format', 'csv', '--device', 'cart-1', '--quiet', ...gateway()],
      async (child) => child.stdin?.write('time,lat,long\n2026-01-01T00:00:00Z,51.5,-0.1\n'),
    ],
    [['simulate', '--history', '300', '--carts', '20', ...gateway(), '--mqtt', g.mqtt], onceItPrints(/are registered/)],
  ]
  for (const [argv, isAtWork] of slow)
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const child = start(argv)
      const ended = outcomeOf(child)
      await Promise.all([isAtWork(child), once(child, 'spawn')])
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      assert.equal(child.exitCode, null, 'it is still at work')
      child.kill(signal)
      const { code, out, err } = await ended
      assert.equal(code, EXIT.interrupted, `${argv[0]}: ${out}${err}`)
    }
})

function onceItPrints(words: RegExp) {
  return (child: ChildProcess) =>
    new Promise<void>((resolve) => {
      child.stdout?.on('data', (chunk) => words.test(String(chunk)) && resolve())
    })
}

test('every command has help in one style, and rejects an unknown option', async () => {
  for (const [name, , load] of COMMANDS.filter(([one]) => one !== 'version')) {
    const command = await load()
    const help = await outputOf(command, ['--help'])
    assert.deepEqual([help.code, help.err], [EXIT.ok, ''], name)
    const [usage = '', , description = ''] = help.out.split('\n')
    assert.match(usage, new RegExp(`^Usage: cartbarn ${name} `), name)
    assert.match(description, /^[A-Z]/, `${name}: ${description}`)
    assert.match(help.out, /^ {2}--help +print this page/m, name)
    const wrong = await outputOf(command, ['--no-such-option'])
    assert.equal(wrong.code, EXIT.usage, name)
    assert.match(wrong.err, new RegExp(`^${name}: .*\\(see --help\\)\n$`), name)
  }
})

/** Runs a command in this process: starting one for each takes longer than all their work. */
async function outputOf(command: RunCommand, argv: readonly string[]) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const { signal } = new AbortController()
  const code = await command(argv, { env: bareEnvironment(), folder, stdin, stdout, stderr, signal })
  return { code, out: String(stdout.read() ?? ''), err: String(stderr.read() ?? '') }
}
