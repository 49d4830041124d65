import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bareEnvironment } from '#shared/testing/bare-environment.ts'
import { migrate } from '#store/migrate.ts'
import { openForSetup } from '#store/writer/open.ts'
import { fillSchema } from '#testing/rows-of-schema.ts'

const PROGRAM = fileURLToPath(new URL('../../scripts/commands/cartbarn.ts', import.meta.url))
const OLD_SCHEMA = 20

function schemaOf(path: string): unknown {
  const connection = openForSetup(path)
  try {
    return connection.db.pragma('user_version', { simple: true })
  } finally {
    connection.close()
  }
}

test('systemd is notified of each upgrade step; SIGTERM during a step leaves the old database', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-upgrade-news-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'cartbarn.db')
  const old = openForSetup(path)
  migrate(old, OLD_SCHEMA)
  fillSchema(old)
  old.close()
  // stands for the command of systemd, which needs systemd itself
  const messages = join(folder, 'messages')
  writeFileSync(join(folder, 'systemd-notify'), `#!/bin/sh\nprintf '%s\\n' "$*" >> ${messages}\n`)
  chmodSync(join(folder, 'systemd-notify'), 0o755)
  const run = () => {
    const environment = bareEnvironment({
      CARTBARN_DATA_DIR: folder,
      CARTBARN_HOST: '127.0.0.1',
      NOTIFY_SOCKET: '/run/systemd/notify',
      CARTBARN_HTTP_PORT: '0',
      CARTBARN_MQTT_PORT: '0',
      PATH: `${folder}${delimiter}${process.env.PATH}`,
    })
    return spawn(process.execPath, [PROGRAM, 'run'], {
      cwd: folder,
      env: environment,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  }
  const ended = run()
  const closed = once(ended, 'close')
  for await (const line of createInterface({ input: ended.stdout }))
    if (line.includes('upgrading the database')) ended.kill('SIGTERM')
  await closed
  assert.deepEqual([ended.signalCode, ended.exitCode], [null, 0], 'an upgrade that was stopped has not failed')
  assert.equal(schemaOf(path), OLD_SCHEMA)

  const whole = run()
  t.after(() => whole.kill('SIGKILL'))
  for await (const line of createInterface({ input: whole.stdout })) if (line.includes('listening')) break
  whole.kill('SIGTERM')
  await once(whole, 'exit')
  const news = readFileSync(messages, 'utf8')
  assert.match(news, /EXTEND_TIMEOUT_USEC=300000000 STATUS=upgrading the database: making a backup first\n/)
  assert.match(news, /STATUS=upgrading the database: 021-[a-z-]+ \(1 of \d+\)\n/)
})
