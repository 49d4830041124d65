import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { Workbench } from '#scripts/rig/processes.ts'
import { tortureHistory } from './history.ts'

const bench = new Workbench()
after(() => bench.clear())
process.on('exit', () => bench.clear())

test('a history that is sealed, added to and deleted from survives kills and power cuts', async () => {
  const outcome = await tortureHistory({
    bench,
    entry: ENTRY,
    isShort: true,
    cycles: undefined,
    seed: undefined,
    proves: false,
  })
  assert.deepEqual(outcome.damage, [])
  for (const { expected, listed, examples, ...faults } of outcome.checks) {
    assert.ok(expected > 0 && listed >= expected)
    assert.deepEqual(examples, [])
    assert.deepEqual(faults, {
      missing: 0,
      excused: 0,
      returned: 0,
      unknown: 0,
      twice: 0,
      wrongValues: 0,
      wrongCounts: 0,
    })
  }
  assert.equal(outcome.incompleteImports, 0)
  assert.ok(outcome.deletions.confirmed > 0)
})
