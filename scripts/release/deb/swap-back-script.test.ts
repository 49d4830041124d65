import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'

/** Properties that systemd shows for a service whose last process ended before it was ready. */
const NEVER_READY = { ActiveEnterTimestampMonotonic: 1_000, ExecMainStartTimestampMonotonic: 5_000 }
const READY = { ActiveEnterTimestampMonotonic: 6_000, ExecMainStartTimestampMonotonic: 5_000 }
const EXITED = 1
const KILLED = 2
const DUMPED = 3

type Shown = Record<string, string | number>

function ended(result: string, code: number, status: number, ready: Shown = NEVER_READY): Shown {
  return { ...ready, Result: result, ExecMainCode: code, ExecMainStatus: status }
}

/**
 * Runs the script of the package on a machine whose systemd shows these properties; returns what it called, in order.
 */
function callsOf(t: TestContext, shown: Shown, program = 'exit 0'): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-swap-script-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [bin, programs, calls] = ['bin', 'programs', 'calls'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  mkdirSync(bin)
  mkdirSync(programs)
  const put = (path: string, script: string) => writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  const cases = Object.entries(shown).map(([name, value]) => `*property=${name}\\ *) echo '${value}' ;;`)
  put(
    join(bin, 'systemctl'),
    `if [ "$1" = show ]; then case "$* " in ${cases.join('\n')} esac; else echo "systemctl $*" >> ${calls}; fi`,
  )
  writeFileSync(calls, '')
  for (const name of ['cartbarn', 'cartbarn.previous'])
    put(join(programs, name), `echo "${name} $*" >> ${calls}; ${program}`)
  const script = readFileSync(join(import.meta.dirname, 'swap-back.sh'), 'utf8')
  const { status, stderr } = spawnSync('sh', ['-c', script.replaceAll('/usr/lib/cartbarn', programs)], {
    env: { PATH: `${bin}${delimiter}${process.env.PATH}` },
    encoding: 'utf8',
  })
  assert.deepEqual([status, stderr], [0, ''])
  return readFileSync(calls, 'utf8').replaceAll(programs, 'PROGRAMS').trim().split('\n')
}

const ASKED = ['cartbarn.previous swap-back --programs PROGRAMS']
const WITHOUT_SWAP = ['cartbarn.previous swap-back --programs /nonexistent']

for (const [what, shown] of [
  ['exits with an error', ended('exit-code', EXITED, 1)],
  ['cannot be executed', ended('exit-code', EXITED, 203)],
  ['crashes', ended('signal', KILLED, 11)],
  ['aborts with a core', ended('core-dump', DUMPED, 6)],
  ['runs into an illegal instruction', ended('signal', KILLED, 4)],
  ['is not ready in time', ended('timeout', KILLED, 9)],
  [
    'exits with an error at the first start of the machine',
    { ...ended('exit-code', EXITED, 1), ActiveEnterTimestampMonotonic: 0 },
  ],
] as [string, Shown][])
  test(`a new program that ${what} before it is ready may be a failed upgrade`, (t) => {
    assert.deepEqual(callsOf(t, shown), ASKED)
  })

for (const [what, shown] of [
  ['was restarted too often by a person', ended('start-limit-hit', EXITED, 0, READY)],
  ['was restarted too often while it started', ended('start-limit-hit', EXITED, 0)],
  ['was stopped before it could catch the signal', ended('start-limit-hit', KILLED, 15)],
  ['was killed by a person', ended('signal', KILLED, 9, READY)],
  ['was killed by a person while it started', ended('signal', KILLED, 9)],
  ['ran out of memory', ended('oom-kill', KILLED, 9, READY)],
  ['ran out of memory while it started', ended('oom-kill', KILLED, 9)],
  ['was ready and crashed', ended('signal', KILLED, 11, READY)],
  ['was ready and ended with an error', ended('exit-code', EXITED, 1, READY)],
  ['was ready and stood still', ended('watchdog', DUMPED, 6, READY)],
  ['was ready and took too long to stop', ended('timeout', KILLED, 9, READY)],
  ['has a folder in its unit that is not there', ended('exit-code', EXITED, 226)],
  ['has a user that is not there', ended('exit-code', EXITED, 217)],
  ['systemd says nothing of', {}],
] as [string, Shown][])
  test(`a program that ${what} is only started again`, (t) => {
    assert.deepEqual(callsOf(t, shown), WITHOUT_SWAP)
  })

test('where the program before cannot be asked the service is started again, unless a setting is wrong', (t) => {
  const started = ['systemctl reset-failed cartbarn.service', 'systemctl start --no-block cartbarn.service']
  assert.deepEqual(callsOf(t, ended('exit-code', EXITED, 1), 'exit 1'), [...ASKED, ...started])
  assert.deepEqual(callsOf(t, ended('exit-code', EXITED, 78), 'exit 1'), ASKED)
})
