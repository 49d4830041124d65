import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { notifyServiceManager, watchdogTimeoutMs } from './manager.ts'

/** Stands for the command of systemd, which needs systemd itself: writes down what it is given. */
function putNotify(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-notify-'))
  const { PATH, NOTIFY_SOCKET } = process.env
  t.after(() => {
    rmSync(folder, { recursive: true })
    process.env.PATH = PATH
    if (NOTIFY_SOCKET === undefined) delete process.env.NOTIFY_SOCKET
    else process.env.NOTIFY_SOCKET = NOTIFY_SOCKET
  })
  const command = join(folder, 'systemd-notify')
  writeFileSync(command, `#!/bin/sh\nprintf '%s\\n' "$@" >> ${folder}/sent\n`)
  chmodSync(command, 0o755)
  process.env.PATH = `${folder}:${PATH}`
  return folder
}

test('each notification is one argument, in one line', async (t) => {
  const folder = putNotify(t)
  process.env.NOTIFY_SOCKET = '/run/systemd/notify'
  assert.equal(await notifyServiceManager({ READY: 1, STATUS: 'a $(b)\nc' }), null)
  assert.equal(readFileSync(join(folder, 'sent'), 'utf8'), 'READY=1\nSTATUS=a $(b) c\n')
})

test('without a service manager no notification is sent', async (t) => {
  const folder = putNotify(t)
  delete process.env.NOTIFY_SOCKET
  assert.equal(await notifyServiceManager({ READY: 1 }), null)
  assert.throws(() => readFileSync(join(folder, 'sent')), /ENOENT/)
})

test('a missing systemd-notify is reported', async (t) => {
  const folder = putNotify(t)
  Object.assign(process.env, { NOTIFY_SOCKET: '/run/systemd/notify', PATH: join(folder, 'none') })
  assert.match((await notifyServiceManager({ READY: 1 })) ?? '', /systemd-notify/)
})

for (const [environment, patienceMs] of [
  [{}, null],
  [{ WATCHDOG_USEC: '' }, null],
  [{ WATCHDOG_USEC: '60000000' }, 60_000],
  [{ WATCHDOG_USEC: '60000000', WATCHDOG_PID: String(process.pid) }, 60_000],
  [{ WATCHDOG_USEC: '60000000', WATCHDOG_PID: '1' }, null],
] as const) {
  test(`${JSON.stringify(environment)} is a watchdog timeout of ${patienceMs}`, () => {
    assert.equal(watchdogTimeoutMs(environment), patienceMs)
  })
}
