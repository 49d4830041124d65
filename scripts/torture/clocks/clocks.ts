import { randomInt } from 'node:crypto'
import { type Figure, noneOf, printProgress, told } from '#scripts/rig/report.ts'
import type { TortureContext, TortureScenario } from '../scenario.ts'
import { playStory, type Story } from './story.ts'

const STORIES = 50
const SHORT_STORIES = 5

/** Whatever a clock shows, nothing that was acknowledged is gone before its time, and a wrong time is said. */
export const clocks: TortureScenario = {
  name: 'clocks',
  summary: 'clocks that jump by minutes to years while the gateway runs and between two starts',
  run: async (context) => {
    const stories = await playStories(context)
    return { figures: createFigures(stories), raw: stories }
  },
}

/** Plays stories one after the other and prints the seed of each: `--cycles 1 --seed N` plays one again. */
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
    for (const fault of [...story.missing, ...story.unsaid]) printProgress(`    FAULT ${fault}`)
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
      `clocks: wrong times without a word, in ${stories.length} stories`,
      total(({ unsaid }) => unsaid.length),
    ),
    told('clocks: looks that said that the clock is in doubt', String(total(({ doubts }) => doubts))),
    told('clocks: single readings dated by a clock behind', String(total(({ redated }) => redated))),
    told('clocks: readings in the quarantine', String(total(({ inQuarantine }) => inQuarantine))),
  ]
}
