import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { ROW_OF_GOOD_KEYS, SHORT_NEIGHBOURS } from '#scripts/rig/neighbours/attacks.ts'
import { Workbench } from '#scripts/rig/processes.ts'
import { createNeighbourScenarios } from './neighbours.ts'

// the rows share a course and a hub
const bench = new Workbench()
after(() => bench.clear())

/** Set CARTBARN_TEST_LONG=1 to include these: they work for longer than the others, in the same way. */
const ONLY_LONG = ['sockets-2000', 'long-filters', 'deep-lists', 'refused-upgrades', 'hub-slow-posts']
const isLong = process.env.CARTBARN_TEST_LONG !== undefined

// `torture --short` has the others
const rows = createNeighbourScenarios().filter(
  ({ name }) =>
    name === ROW_OF_GOOD_KEYS || (!SHORT_NEIGHBOURS.includes(name) && (isLong || !ONLY_LONG.includes(name))),
)

for (const { name, run } of rows) {
  test(`a short run of ${name} yields figures, and other clients have no lost or rejected requests`, async () => {
    const { figures } = await run({
      bench,
      entry: ENTRY,
      isShort: true,
      durationS: undefined,
      rounds: undefined,
    })
    assert.match(figures[0]?.reached ?? '', /^\d+\.\d+ \(\d+\.\d : \d+\.\d ms\)$/)
    assert.ok(figures.some(({ passed }) => passed === true))
    assert.deepEqual(
      figures.filter(({ passed }) => passed === false),
      [],
    )
  })
}
