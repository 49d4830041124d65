import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { readTreeUsage, withDescendants } from './process-usage.ts'

const isLinux = process.platform === 'linux'

test('a tree has the children of children', { skip: !isLinux }, async (t) => {
  const shell = spawn('sh', ['-c', 'sh -c "echo \\$\\$; cat; :"; :'], { stdio: ['pipe', 'pipe', 'ignore'] })
  t.after(() => shell.stdin.end())
  const [line] = await once(shell.stdout, 'data')
  const tree = withDescendants([shell.pid ?? 0])
  assert.ok(tree.has(shell.pid ?? 0))
  assert.ok(tree.has(Number(line)))
})

test('what a process that has ended used counts for the one that waited for it', {
  skip: !isLinux,
}, async (t) => {
  const busy = 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'
  const shell = spawn('sh', ['-c', `sh -c '${busy}'; echo done; read end`], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  t.after(() => shell.stdin.end())
  await once(shell.stdout, 'data')
  assert.ok(readTreeUsage([shell.pid ?? 0]).cpuS > 0)
})
