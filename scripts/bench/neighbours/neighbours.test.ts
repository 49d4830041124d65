import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { ROW_OF_GOOD_KEYS, SHORT_NEIGHBOURS } from '#scripts/rig/neighbours/attacks.ts'
import { Workbench } from '#scripts/rig/processes.ts'
import { scenariosOf } from '../benchmarks.ts'

// the rows share a course and a hub
const bench = new Workbench()
after(() => bench.clear())

/** Set CARTBARN_TEST_LONG=1 to include these: they work for longer than the others, in the same way. */
const ONLY_LONG = ['sockets-2000', 'long-filters', 'deep-lists', 'refused-upgrades', 'hub-slow-posts']
const isLong = process.env.CARTBARN_TEST_LONG !== undefined
// `torture --short` has these
const tested = SHORT_NEIGHBOURS.filter((name) => name !== ROW_OF_GOOD_KEYS)
const left = [...tested, ...(isLong ? [] : ONLY_LONG)]

for (const { name, run } of scenariosOf('neighbours').filter((row) => !left.includes(row.name))) {
  test(`a short run of ${name} yields figures, and other clients have no lost or rejected requests`, async () => {
    const { figures } = await run({ bench, entry: ENTRY, isShort: true, durationS: undefined, rounds: undefined })
    assert.match(figures[0]?.reached ?? '', /^\d+\.\d\d$/)
    const judged = figures.filter(({ passed }) => passed !== null)
    assert.ok(judged.length > 0 && judged.every(({ passed }) => passed))
  })
}
