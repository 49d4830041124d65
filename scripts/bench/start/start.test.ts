import { test } from 'node:test'
import { lookShortly } from '../short-look.ts'
import { createStartScenarios } from './start.ts'

test('a short run of starts and idle time with a history yields figures, and no data is lost', async (t) => {
  await lookShortly(t, async (context) => {
    const figures = []
    // they share a folder, so they share a workbench
    for (const { run } of createStartScenarios()) figures.push(...(await run(context)).figures)
    return { figures, raw: {} }
  })
})
