import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createLog } from '#shared/log.ts'
import { readConfig } from './config.ts'
import { createGateway } from './gateway.ts'
import type { Gateway } from './restorable-gateway.ts'

const folder = mkdtempSync(join(tmpdir(), 'cartbarn-upgrades-'))
const lines: string[] = []
let gateway: Gateway

before(async () => {
  const config = readConfig({
    CARTBARN_DATA_DIR: folder,
    CARTBARN_HOST: '127.0.0.1',
    CARTBARN_HTTP_PORT: '0',
    CARTBARN_MQTT_PORT: '0',
    CARTBARN_READER_THREADS: '1',
  })
  gateway = createGateway(config, createLog('info', { write: (line) => void lines.push(line) }))
  await gateway.start()
})
after(async () => {
  await gateway.stop()
  rmSync(folder, { recursive: true, force: true })
})

const UPGRADE = 'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n'
for (const [what, headers] of [
  ['an upgrade', UPGRADE],
  ['an upgrade with half of its headers', 'Upgrade: websocket\r\nConnection: Upgrade\r\n'],
  ['a request', 'Connection: close\r\n'],
] as const) {
  for (const target of [
    '//',
    '///',
    '//[',
    'http://[',
    'http://a:99999999/',
    '/\\\\',
    '/%',
    '*',
    '/realtime',
    '/mqtt',
    '/a',
  ]) {
    test(`${what} for ${target} without a key is rejected, and is not an error of the gateway`, async () => {
      lines.length = 0
      const socket = connect(Number(new URL(gateway.addresses().http).port), '127.0.0.1')
      socket.end(`GET ${target} HTTP/1.1\r\nHost: barn\r\n${headers}\r\n`)
      let answer = ''
      socket.setEncoding('latin1').on('data', (text: string) => {
        answer += text
      })
      await once(socket, 'close')
      assert.match(answer, /^HTTP\/1\.1 4\d\d /)
      const unexpected = lines.filter((line) => ['error', 'fatal'].includes(JSON.parse(line).level))
      assert.deepEqual(unexpected, [])
    })
  }
}
