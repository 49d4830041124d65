import { test } from 'node:test'
import { lookShortly } from '../short-look.ts'
import { createStartScenarios } from './start.ts'

test('a short look at starts and rest with a history gives figures, and nothing is lost', async (t) => {
  await lookShortly(t, async (context) => {
    const figures = []
    // they share a folder, so they share a workbench
    for (const { run } of createStartScenarios()) figures.push(...(await run(context)).figures)
    return { figures, raw: {} }
  })
})
