import { none } from '#scripts/rig/figures.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { ordeal, printFaults } from '../scenario.ts'
import { playStory, type Story } from './story.ts'

/** Checks that, whatever a clock shows, no acknowledged record is deleted early and a wrong time is reported. */
export const clocks = ordeal({
  name: 'clocks',
  summary: 'clocks that jump by minutes to years while the gateway runs and between two starts',
  cycles: [50, 5],
  figures: {
    stories: { what: 'stories of a clock' },
    acknowledged: { what: 'acknowledged readings', by: 'sum' },
    missing: none('readings that are missing or were deleted early'),
    unreported: none('unreported wrong times'),
    doubts: { what: 'checks in which a clock fault was reported', by: 'sum' },
    redated: { what: 'single readings dated by a clock behind', by: 'sum' },
    inQuarantine: { what: 'readings in the quarantine', by: 'sum' },
  },
  async run({ cycles, seed }) {
    const stories: Story[] = []
    for (let i = 0; i < cycles; i++) {
      const story = await playStory(seed + i)
      // `--cycles 1 --seed N` repeats one
      printProgress(`  seed ${story.seed}: ${story.acknowledged} readings; ${story.steps.join('; ')}`)
      printFaults([...story.missing, ...story.unreported])
      stories.push(story)
    }
    return {
      stories: stories.length,
      acknowledged: stories.map(({ acknowledged }) => acknowledged),
      missing: stories.map(({ missing }) => missing.length),
      unreported: stories.map(({ unreported }) => unreported.length),
      doubts: stories.map(({ doubts }) => doubts),
      redated: stories.map(({ redated }) => redated),
      inQuarantine: stories.map(({ inQuarantine }) => inQuarantine),
    }
  },
})
