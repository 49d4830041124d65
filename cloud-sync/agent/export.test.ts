import assert from 'node:assert/strict'
import { test } from 'node:test'
import { syncFileLineSchema } from '#shared/wire/replication/sync-file.ts'
import { startRig } from '#sync-testing/agent-rig.ts'

test('an export splits the states of thousands of devices into lines no longer than those of batches', async (t) => {
  const rig = await startRig(t)
  await rig.step('link')
  for (let n = 0; n < 6_000; n++) {
    const hardware_id = `cart-${n}`
    rig.states.devices.set(hardware_id, { hardware_id, name: 'x'.repeat(900) })
  }
  rig.source.append('lock_events', 3)
  const { signal } = new AbortController()
  const found: unknown[] = []
  const kinds: string[] = []
  for await (const line of rig.agent.exportLines(signal)) {
    assert.ok(Buffer.byteLength(line) <= 512 << 10, `a line of ${line.length} characters`)
    const content = syncFileLineSchema.parse(JSON.parse(line))
    kinds.push(...Object.keys(content))
    if ('devices' in content) found.push(...content.devices.map(({ hardware_id }) => hardware_id))
  }
  assert.deepEqual(found, rig.states.hardwareIds())
  assert.deepEqual([kinds[0], kinds[1], kinds.at(-1)], ['head', 'part', 'end'])
})

test('an export of a gateway without devices contains an empty device list', async (t) => {
  const rig = await startRig(t)
  await rig.step('link')
  const lines: string[] = []
  for await (const line of rig.agent.exportLines(new AbortController().signal)) lines.push(line)
  assert.deepEqual(JSON.parse(lines[1] ?? ''), { devices: [] })
})

test('rows sealed while the log is read are part of the same export', async (t) => {
  const rig = await startRig(t)
  await rig.step('link')
  rig.source.append('lock_events', 3)
  const lines: string[] = []
  for await (const line of rig.agent.exportLines(new AbortController().signal)) {
    lines.push(line)
    if (line.includes('lock_events') && lines.length === 2) rig.source.append('history', 4)
  }
  const end = syncFileLineSchema.parse(JSON.parse(lines.at(-1) ?? ''))
  assert.ok('end' in end)
  assert.equal(end.end.cursors.history.seq, rig.source.ends().history)
  assert.equal(end.end.rows, 7)
})
