import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '#shared/log.ts'
import { RepeatedTask } from './repeated-task.ts'

test('runs that fail alike are one line of the log, until another reason or a success', async () => {
  const lines: string[] = []
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line).reason ?? JSON.parse(line).msg) })
  let reason: string | null = null
  const task = new RepeatedTask({
    everyMs: 10_000,
    task: async () => {
      if (reason !== null) throw new Error(reason)
    },
    failure: 'cannot count; retrying later',
    log,
  })
  for (const next of ['starting up', 'starting up', 'no space', 'no space', null, null, 'no space']) {
    reason = next
    await task.run()
  }
  assert.deepEqual(lines, ['starting up', 'no space', 'succeeded again', 'no space'])
})
