// Checks that the tables of the documents show the last recorded figures; with --figures, writes them.
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { BENCH_TOPICS } from '#scripts/bench/benchmarks.ts'
import { outdatedPages } from '#scripts/rig/figure-tables.ts'
import { TORTURE_TOPIC } from '#scripts/torture/scenarios.ts'

const writes = process.argv.includes('--figures')
for (const [page, text] of outdatedPages([...BENCH_TOPICS, TORTURE_TOPIC])) {
  if (writes) writeFileSync(page, text)
  else {
    console.error(`${fileURLToPath(page)} does not show the last figures: npm run check -- --figures`)
    process.exitCode = 1
  }
}
