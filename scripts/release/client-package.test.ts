import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { packClient } from './client-package.ts'

// The packed client in a separate folder without other files of cartbarn.

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'cartbarn-client-test-'))
const outside = join(folder, 'outside')
const installed = join(outside, 'node_modules/cartbarn-client')

let gateway: TestGateway
let tarball: string

before(async () => {
  gateway = await startGateway()
  tarball = await packClient(join(folder, 'first'))
  mkdirSync(outside)
  const { code, output } = await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball])
  assert.equal(code, 0, output)
})
after(async () => {
  await gateway.stop()
  rmSync(folder, { recursive: true })
})

/** Runs a program in that folder, as a user would. */
function run(command: string, args: string[]): Promise<{ code: unknown; output: string }> {
  const env = { ...process.env, NODE_OPTIONS: '', GATEWAY_URL: gateway.http, GATEWAY_KEY: ADMIN_KEY }
  return new Promise((resolve) => {
    execFile(command, args, { cwd: outside, env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, output: `${stdout}${stderr}` }),
    )
  })
}

/** Returns the output of tsc for a file outside, under the options of a new project. */
function compile(file: string, options: string[] = []) {
  const args = ['--noEmit', '--strict', '--module', 'nodenext', '--types', '', '--pretty', 'false']
  return run(join(ROOT, 'node_modules/.bin/tsc'), [...args, ...options, file])
}

function write(file: string, text: string): void {
  writeFileSync(join(outside, file), text)
}

test('the package includes all it needs, and nothing from zod', () => {
  assert.deepEqual(readdirSync(join(outside, 'node_modules')).sort(), ['.package-lock.json', 'cartbarn-client'])
  assert.deepEqual(readdirSync(installed).sort(), [
    'LICENSE',
    'README.md',
    'client.d.ts',
    'client.js',
    'operations.d.ts',
    'package.json',
  ])
  const imports = ['client.d.ts', 'client.js', 'operations.d.ts'].flatMap((file) =>
    [...readFileSync(join(installed, file), 'utf8').matchAll(/(?:from|import) ?\(?'(.+?)'/g)].map(([, path]) => path),
  )
  assert.deepEqual([...new Set(imports)], ['./operations.js'])
})

test('a second build has the same bytes', async () => {
  const second = await packClient(join(folder, 'second'))
  assert.ok(readFileSync(second).equals(readFileSync(tarball)))
})

test('plain Node lists and creates devices, reads a history and gets the reason for a rejection', async () => {
  const cart = await gateway.device('cart-1')
  await cart.publishAsync('dev/cart-1/tlm', '[{"ts":1765967400000,"lat":28.4,"long":-81.5}]', { qos: 1 })
  write(
    'use.mjs',
    `import { ApiClient, ApiError } from 'cartbarn-client'
    const { GATEWAY_URL: url, GATEWAY_KEY: apiKey } = process.env
    const client = new ApiClient({ url, apiKey })
    const made = await client.call('POST /devices', { body: { hardware_id: 'cart-2', device_type: 'teebox' } })
    const { devices } = await client.call('GET /devices', { query: { limit: 10 } })
    const positions = await client.call('GET /devices/{id}/gps', { path: { id: 'cart-1' } })
    const error = await client.call('GET /devices/{id}', { path: { id: 'cart-3' } }).catch((error) => error)
    console.log(JSON.stringify([
      made.mqtt.username, devices.map((device) => device.hardware_id), positions.map(({ lat, long }) => [lat, long]),
      error instanceof ApiError, error.status, error.code,
    ]))`,
  )
  const { code, output } = await run(process.execPath, ['use.mjs'])
  assert.equal(code, 0, output)
  assert.deepEqual(JSON.parse(output), ['cart-2', ['cart-1', 'cart-2'], [[28.4, -81.5]], true, 404, 'device_not_found'])
})

const USE = `import { type AnswerOf, ApiClient, ApiError, type Device } from 'cartbarn-client'
const client = new ApiClient({ url: 'http://127.0.0.1:1' })
`

test('the requests and responses of the API compile', async () => {
  write(
    'right.mts',
    `${USE}
    const { devices, pagination }: AnswerOf<'GET /devices'> = await client.call('GET /devices', {
      query: { hardware_ids: ['cart-1'], limit: 5, attr_lock_status: true, search: undefined },
    })
    const [first]: Device[] = devices
    const isOnline: boolean | undefined = first?.is_online
    const [record] = await client.call('GET /devices/{id}/battery', { path: { id: 'cart-1' }, query: { order: 'asc' } })
    const voltage: number | undefined = record?.battery_voltage
    const metrics: string = await client.call('GET /metrics')
    await client.call('PATCH /devices/{id}', { path: { id: 'cart-1' }, body: { name: null } })
    if ((await client.call('GET /commands/{id}', { path: { id: 'x' } })).status === 'completed') throw new ApiError('x', new Response(), '')
    export { isOnline, metrics, pagination, voltage }`,
  )
  assert.deepEqual(await compile('right.mts', ['--exactOptionalPropertyTypes']), { code: 0, output: '' })
})

test('invalid requests and responses do not compile', async () => {
  const wrong = [
    `await client.call('GET /wagons')`,
    `await client.call('GET /devices/{id}')`,
    `await client.call('GET /devices', { query: { limitt: 5 } })`,
    `await client.call('GET /devices', { body: {} })`,
    `await client.call('GET /lock-events', { query: { source: 'magic' } })`,
    `await client.call('POST /devices', { body: { hardware_id: 'cart-1' } })`,
    `await client.call('POST /devices', { body: { hardware_id: 7, device_type: 'teebox' } })`,
    `(await client.call('GET /devices')).devices[0].battery`,
    `(await client.call('GET /devices')).devices[0].hardware_id.toFixed()`,
    `if ((await client.call('GET /commands/{id}', { path: { id: 'x' } })).status === 'done') throw ApiError`,
  ]
  write('wrong.mts', `${USE}${wrong.join(';\n')}\nexport type Used = AnswerOf<'GET /health'> | Device\n`)
  const { code, output } = await compile('wrong.mts')
  assert.notEqual(code, 0)
  const lines = [...output.matchAll(/^wrong\.mts\((\d+),/gm)].map(([, line]) => Number(line))
  const offset = USE.split('\n').length
  assert.deepEqual(
    [...new Set(lines)],
    wrong.map((_, i) => i + offset),
    output,
  )
})

test("its types match those of the repository's client: same responses, and no additional calls", async () => {
  write(
    'same.mts',
    `import type * as packed from 'cartbarn-client'
    import type * as ours from '${join(ROOT, 'shared/wire/operation-types.ts')}'
    type Same<A, B> = [A, B] extends [B, A] ? true : false
    type Answers = { [Name in ours.OperationName]: Same<packed.AnswerOf<Name>, ours.AnswerOf<Name>> }
    type Inputs = { [Name in ours.OperationName]: packed.InputOf<Name> extends ours.InputOf<Name> ? true : false }
    type AllTrue = Record<packed.OperationName | ours.OperationName, true>
    export const proof: (answers: Answers, inputs: Inputs) => [AllTrue, AllTrue] = (answers, inputs) => [answers, inputs]`,
  )
  // the schemas are read as they are here, with Node's types
  const ownOptions = ['--allowImportingTsExtensions', '--skipLibCheck', '--exactOptionalPropertyTypes']
  const types = ['--typeRoots', join(ROOT, 'node_modules/@types'), '--types', 'node']
  assert.deepEqual(await compile('same.mts', [...ownOptions, ...types]), { code: 0, output: '' })
})
