import { randomInt } from 'node:crypto'
import { type Figure, noneOf, printProgress, withoutTarget } from '#scripts/rig/report.ts'
import type { TortureContext, TortureScenario } from '../scenario.ts'
import { playStory, type Story } from './story.ts'

const STORIES = 50
const SHORT_STORIES = 5

/** Checks that, whatever a clock shows, no acknowledged record is deleted early and a wrong time is reported. */
export const clocks: TortureScenario = {
  name: 'clocks',
  summary: 'clocks that jump by minutes to years while the gateway runs and between two starts',
  run: async (context) => {
    const stories = await playStories(context)
    return { figures: createFigures(stories), raw: stories }
  },
}

/** Plays stories one after the other and prints the seed of each: `--cycles 1 --seed N` replays one. */
async function playStories({
  isShort,
  cycles,
  seed = randomInt(2 ** 31),
}: Pick<TortureContext, 'isShort' | 'cycles' | 'seed'>): Promise<Story[]> {
  const count = cycles ?? (isShort ? SHORT_STORIES : STORIES)
  const stories: Story[] = []
  for (let i = 0; i < count; i++) {
    const story = await playStory(seed + i)
    printProgress(`  seed ${story.seed}: ${story.acknowledged} readings; ${story.steps.join('; ')}`)
    for (const fault of [...story.missing, ...story.unreported]) printProgress(`    FAULT ${fault}`)
    stories.push(story)
  }
  return stories
}

function createFigures(stories: readonly Story[]): Figure[] {
  const total = (count: (story: Story) => number) => stories.reduce((sum, story) => sum + count(story), 0)
  return [
    noneOf(
      `clocks: missing or deleted early, of ${total((story) => story.acknowledged)} acknowledged readings`,
      total(({ missing }) => missing.length),
    ),
    noneOf(
      `clocks: unreported wrong times, in ${stories.length} stories`,
      total(({ unreported }) => unreported.length),
    ),
    withoutTarget('clocks: checks in which a clock fault was reported', String(total(({ doubts }) => doubts))),
    withoutTarget('clocks: single readings dated by a clock behind', String(total(({ redated }) => redated))),
    withoutTarget('clocks: readings in the quarantine', String(total(({ inQuarantine }) => inQuarantine))),
  ]
}
