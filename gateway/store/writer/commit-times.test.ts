import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '#shared/log.ts'
import { CommitTimes } from './commit-times.ts'

function recorder(): { log: ReturnType<typeof createLog>; lines: string[] } {
  const lines: string[] = []
  const log = createLog('silent')
  log.warn = log.info = (_: object, message?: string) => {
    lines.push(message ?? '')
  }
  return { log, lines }
}

test('a disk that is slow for ten seconds is reported once, and so is its recovery', () => {
  const { log, lines } = recorder()
  const times = new CommitTimes(log)
  for (let i = 0; i < 5; i++) times.add(1_900)
  assert.deepEqual(lines, [])
  for (let i = 0; i < 5; i++) times.add(1_900)
  assert.deepEqual(lines, ['disk commits are slow'])
  times.add(3)
  times.add(3)
  assert.deepEqual(lines, ['disk commits are slow', 'disk commits are fast again'])
})

test('one slow commit between fast ones is not reported', () => {
  const { log, lines } = recorder()
  const times = new CommitTimes(log)
  for (let i = 0; i < 20; i++) times.add(i % 2 === 0 ? 5_000 : 2)
  assert.deepEqual(lines, [])
})

test('the percentile is that of the last 512 commits', () => {
  const times = new CommitTimes(createLog('silent'))
  assert.equal(times.p99S(), 0)
  for (let i = 0; i < 600; i++) times.add(900)
  for (let i = 0; i < 512; i++) times.add(i < 500 ? 2 : 50)
  assert.equal(times.p99S(), 0.05)
})
