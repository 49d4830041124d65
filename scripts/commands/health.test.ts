import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { runHub, runHubCommand } from '#hub/testing/run-hub.ts'
import { EXIT } from '#scripts/cli/command.ts'
import { CommandFolder } from '#scripts/testing/command-folder.ts'
import { freePort } from '#shared/testing/free-port.ts'
import { startGateway } from '#testing/start-gateway.ts'
import { health } from './health.ts'

const folder = new CommandFolder()
after(() => folder.remove())

/** Runs the command for the gateway of settings with this port. */
function ask(port: number) {
  writeFileSync(folder.file('settings.json'), JSON.stringify({ HTTP_PORT: port }))
  return folder.run(health, ['--config', 'settings.json'])
}

test('a gateway that can store data is healthy', async (t) => {
  const g = await startGateway()
  t.after(() => g.stop())
  assert.deepEqual(await ask(Number(new URL(g.http).port)), { code: EXIT.ok, out: 'ok\n', err: '' })
})

test('a gateway that responds with another status, or not at all, is not healthy', async (t) => {
  const answers = (_request: unknown, response: ServerResponse) => response.writeHead(503).end('{"status":"error"}')
  const server = createServer(answers).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  // it listens at a port, not at a pipe
  const sick = await ask((server.address() as AddressInfo).port)
  assert.deepEqual([sick.code, sick.out], [EXIT.failed, ''])
  assert.match(sick.err, /^health: http:.* is not well: \{"status":"error"\}\n$/)
  const absent = await ask(await freePort())
  assert.deepEqual([absent.code, absent.out], [EXIT.failed, ''])
  assert.match(absent.err, /^health: nothing answers at http:\/\/127\.0\.0\.1:\d+: is it running .*\n$/)
})

test('a hub also reports its health', async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'cartbarn-hub-health-'))
  t.after(() => rmSync(data, { recursive: true, force: true }))
  const hub = await runHub({ CARTBARN_HUB_DATA_DIR: join(data, 'data') })
  t.after(() => hub.end('SIGKILL'))
  const settings = { CARTBARN_HUB_PORT: new URL(hub.url).port }
  assert.deepEqual(await runHubCommand(['health'], settings), { exitCode: 0, stdout: 'ok\n', stderr: '' })
  await hub.end('SIGTERM')
  const { exitCode, stderr } = await runHubCommand(['health'], settings)
  assert.equal(exitCode, 1)
  assert.match(stderr, /^hub: nothing answers at http/)
})
