import { test } from 'node:test'
import { scenariosOf } from '../benchmarks.ts'
import { runShort } from '../run-short.ts'

test('a short run of starts and idle time with a history yields figures, and no data is lost', async (t) => {
  await runShort(t, async (context) => {
    const figures = []
    // they share a folder, so they share a workbench
    for (const { run } of scenariosOf('start')) figures.push(...(await run(context)).figures)
    return { figures, raw: {} }
  })
})
