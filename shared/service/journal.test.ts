import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, fstatSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

const LOG = new URL('../log.ts', import.meta.url).href
const LINES = `import { createProgramLog } from '${LOG}'
const log = await createProgramLog('debug', false, process.env.JOURNAL_STREAM)
for (const level of ['debug', 'info', 'warn', 'error']) log[level]({ n: 1 }, 'said')`

/** Returns the output of a program to a file that represents the stream of a journal. */
function written(t: TestContext, streamOf: (file: string) => string): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-journal-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'out')
  const out = openSync(path, 'w')
  const { dev, ino } = fstatSync(out, { bigint: true })
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', LINES], {
    env: { PATH: process.env.PATH, JOURNAL_STREAM: streamOf(`${dev}:${ino}`) },
    stdio: ['ignore', out, 'pipe'],
    encoding: 'utf8',
  })
  closeSync(out)
  assert.equal(status, 0, stderr)
  return readFileSync(path, 'utf8').trimEnd().split('\n')
}

test('each line for a journal begins with its priority', (t) => {
  const lines = written(t, (stream) => stream)
  assert.deepEqual(
    lines.map((line) => line.slice(0, 3)),
    ['<7>', '<6>', '<4>', '<3>'],
  )
  for (const line of lines) assert.equal(JSON.parse(line.slice(3)).msg, 'said')
})

for (const [what, streamOf] of [
  ['no journal', () => ''],
  ['the journal of another program', () => '8:1'],
  ['what is no stream', () => 'none'],
] as const)
  test(`lines for ${what} are JSON alone`, (t) => {
    for (const line of written(t, streamOf)) assert.equal(JSON.parse(line).n, 1)
  })
