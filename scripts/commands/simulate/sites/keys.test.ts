import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { CommandError } from '#scripts/cli/command.ts'
import { siteKeys } from './keys.ts'
import { parseSitesOptions, type SitesOptions } from './options.ts'

const NEVER = new AbortController().signal
const keyOf = (siteId: string) => `cbs_${siteId}_abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG`

interface Call {
  readonly path: string
  readonly key: string | undefined
  readonly body: string
}

/** Replaces a hub: gives the configured responses, one call after the other, and records the calls. */
async function answering(
  t: TestContext,
  answerOf: (call: Call, nth: number) => { status: number; body: unknown; retryAfter?: string },
): Promise<{ url: string; calls: Call[] }> {
  const calls: Call[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const key = request.headers['x-api-key']
    const call = { path: request.url ?? '', key: typeof key === 'string' ? key : undefined, body }
    calls.push(call)
    const answer = answerOf(call, calls.length)
    response.writeHead(answer.status, answer.retryAfter === undefined ? {} : { 'retry-after': answer.retryAfter })
    response.end(JSON.stringify(answer.body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  // it listens at a port, not at a pipe
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls }
}

function options(...argv: string[]): SitesOptions {
  return parseSitesOptions(argv, {
    env: { CARTBARN_API_KEY: 'admin' },
    folder: '.',
    stdout: process.stdout,
  })
}

test('sites are created with the key of an admin, and existing ones get new keys', async (t) => {
  const { url, calls } = await answering(t, ({ path, body }) => {
    if (path === '/sites/sim-002/keys') return { status: 200, body: { key: keyOf('sim-002') } }
    const siteId = JSON.parse(body).site_id
    if (siteId === 'sim-002') return { status: 409, body: { code: 'site_exists' } }
    return { status: 201, body: { site_id: siteId, key: keyOf(siteId) } }
  })
  const keys = await siteKeys(options('--sites', '3', '--hub', url), NEVER)
  assert.deepEqual(
    keys,
    ['sim-001', 'sim-002', 'sim-003'].map((siteId) => ({ siteId, key: keyOf(siteId) })),
  )
  assert.equal(calls.length, 4)
  assert.ok(calls.every(({ key }) => key === 'admin'))
})

test('a request to a busy hub is repeated after its Retry-After', async (t) => {
  const { url, calls } = await answering(t, (_, nth) =>
    nth === 1
      ? { status: 429, body: {}, retryAfter: '1' }
      : { status: 201, body: { site_id: 'sim-001', key: keyOf('sim-001') } },
  )
  assert.equal((await siteKeys(options('--sites', '1', '--hub', url), NEVER)).length, 1)
  assert.equal(calls.length, 2)
})

for (const [status, body, message] of [
  [401, { code: 'invalid_api_key' }, /must be an admin's/],
  [403, { code: 'admin_required' }, /must be an admin's/],
  [400, { code: 'invalid_body' }, /refuses to register sim-001: 400/],
  [201, { key: 'something else' }, /No hub answers/],
] as const) {
  test(`a response of ${status} with ${JSON.stringify(body)} is reported as an error`, async (t) => {
    const { url } = await answering(t, () => ({ status, body }))
    await assert.rejects(
      siteKeys(options('--sites', '1', '--hub', url), NEVER),
      (error) => error instanceof CommandError && message.test(error.message),
    )
  })
}

test('an unreachable hub is reported as an error', async () => {
  await assert.rejects(siteKeys(options('--sites', '1', '--hub', 'http://127.0.0.1:1'), NEVER), /No hub answers/)
})

test('keys are read from a file, and too few of them are rejected', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-keys-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'keys')
  writeFileSync(file, `# two courses\n${keyOf('north')}\n${keyOf('a-south-7')}\n`)
  assert.deepEqual(await siteKeys(options('--sites', '2', '--keys-file', file), NEVER), [
    { siteId: 'north', key: keyOf('north') },
    { siteId: 'a-south-7', key: keyOf('a-south-7') },
  ])
  await assert.rejects(siteKeys(options('--sites', '3', '--keys-file', file), NEVER), /has 2 site keys, not 3/)
})
