import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { withPortFaults } from './port-fault.ts'

const LISTEN = `const s = require('node:net').createServer().listen(0, '127.0.0.1', () => console.log(s.address().port))`
// as Linux 6.12 writes it: who listens on 1883 is the user 106, with the socket 29613
const TCP = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11111 1 0 100 0 0 10 0
   1: 0100007F:075B 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 22222 1 0 20 4 30 10 -1
   2: 00000000:075B 00000000:0000 0A 00000000:00000000 00:00000000 00000000   106        0 29613 1 0 100 0 0 10 0
`

/** Returns the error of a start on a used port; `root` is the folder of the system files. */
async function fault(port: number, root?: string): Promise<string> {
  const server = createServer()
  const start = async () => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  const part = withPortFaults({ start, stop: async () => undefined }, 'PORT_SETTING', 'HOST_SETTING', root)
  return part.start().then(
    () => assert.fail('it listens'),
    ({ message }: Error) => message,
  )
}

async function takenPort(t: TestContext): Promise<number> {
  const server: Server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  return address.port
}

/** Files of a system, by path. */
function systemOf(t: TestContext, files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'cartbarn-root-'))
  t.after(() => rmSync(root, { recursive: true }))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(root, path, '..'), { recursive: true })
    if (path.includes('/fd/')) symlinkSync(content, join(root, path))
    else writeFileSync(join(root, path), content)
  }
  return root
}

const onLinux = { skip: process.platform !== 'linux' && 'only Linux tells' }

test('a port in use by another program is reported with the name of the program', onLinux, async (t) => {
  const child = spawn(process.execPath, ['-e', LISTEN], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill())
  const [line] = await once(createInterface(child.stdout), 'line')
  const expected = `port ${line} is taken by node (process ${child.pid}): stop that, or set PORT_SETTING to another port`
  assert.equal(await fault(Number(line)), expected)
})

test('a port that two settings share is reported as taken by this program itself', onLinux, async (t) => {
  const port = await takenPort(t)
  assert.equal(
    await fault(port),
    `port ${port} is taken by this program itself, for another setting: set PORT_SETTING to another port`,
  )
})

test('for a program that cannot be inspected the user is named', async (t) => {
  const port = await takenPort(t)
  const tcp = TCP.replaceAll(':075B', `:${port.toString(16).toUpperCase().padStart(4, '0')}`)
  const passwd = 'root:x:0:0:root:/root:/bin/bash\nmosquitto:x:106:113::/var/lib/mosquitto:/usr/sbin/nologin\n'
  const files = { 'proc/net/tcp': tcp, 'etc/passwd': passwd, 'proc/7/fd/3': 'socket:[22222]' }
  const end = ': stop that, or set PORT_SETTING to another port'
  assert.equal(await fault(port, systemOf(t, files)), `port ${port} is taken by a program of the user mosquitto${end}`)
  const readable = {
    ...files,
    'proc/812/fd/5': 'socket:[29613]',
    'proc/812/cmdline': '/usr/sbin/mosquitto\0-c\0x',
  }
  assert.equal(await fault(port, systemOf(t, readable)), `port ${port} is taken by mosquitto (process 812)${end}`)
  // without an entry for its user, and with unreadable system files
  for (const unknown of [{ 'proc/net/tcp': tcp }, {}])
    assert.equal(await fault(port, systemOf(t, unknown)), `port ${port} is taken by another program${end}`)
})

test('an unavailable address is reported with the setting of the address', async () => {
  const start = () => Promise.reject(Object.assign(new Error('x'), { code: 'EADDRNOTAVAIL', port: 1 }))
  const part = withPortFaults({ start, stop: async () => undefined }, 'PORT_SETTING', 'HOST_SETTING')
  await assert.rejects(part.start(), { message: /the address that HOST_SETTING names/ })
})
