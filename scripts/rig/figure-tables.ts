import { readFileSync } from 'node:fs'
import { Records } from './records.ts'
import type { Scenario } from './scenario.ts'

/** Scenarios of a command, such as `bench staff`. */
export interface Topic {
  readonly command: string
  readonly scenarios: readonly Pick<Scenario, 'name' | 'summary' | 'figures'>[]
}

const PAGES = ['performance.md', 'performance-clients.md', 'faults.md'].map(
  (name) => new URL(`../../docs/${name}`, import.meta.url),
)
/** Place of a table in a page: its lines are written from the records. */
const PLACE = /<!-- figures: `(.+?)` -->\n(?:\|.*\n)*/g

/**
 * Pages whose tables are older than the records, by path, with the text that they should have. A table stays as it is
 * until each of its scenarios has been recorded.
 */
export function outdatedPages(topics: readonly Topic[]): Map<URL, string> {
  const records = new Records()
  const outdated = new Map<URL, string>()
  for (const page of PAGES) {
    const text = readFileSync(page, 'utf8')
    const now = text.replaceAll(PLACE, (place, command: string) => {
      const topic = topics.find((one) => one.command === command)
      const isRecorded = topic?.scenarios.every((scenario) => records.linesOf(command, scenario).length > 0)
      const [marker] = place.split('\n')
      return topic === undefined || !isRecorded ? place : `${marker}\n${tableOf(topic, records)}`
    })
    if (now !== text) outdated.set(page, now)
  }
  return outdated
}

function tableOf({ command, scenarios }: Topic, records: Records): string {
  const rows = scenarios.flatMap((scenario) => {
    const lines = records.linesOf(command, scenario)
    const judged = lines.filter(({ target }) => target !== '')
    // `--list` shows the others
    return (judged.length > 0 ? judged : lines).map(({ name, reached, target, passed, commit }, i) => {
      const missed = passed === false ? ', **missed**' : ''
      return `| ${i === 0 ? scenario.name : ''} | ${name} | ${reached} | ${target}${missed} | ${commit} |`
    })
  })
  return ['| `--only` | figure | reached | target | commit |', '|---|---|---|---|---|', ...rows, ''].join('\n')
}

/** Text of all scenarios with their last figures, for people who choose what to run. */
export function overviewOf(topics: readonly Topic[]): string {
  const records = new Records()
  return topics
    .flatMap(({ command, scenarios }) =>
      scenarios.flatMap((scenario) => [
        `\n${command} --only ${scenario.name}: ${scenario.summary}`,
        ...records
          .linesOf(command, scenario)
          .map(({ name, reached, target, commit }) => `  ${name}: ${reached}${target && ` (${target})`}, ${commit}`),
      ]),
    )
    .join('\n')
}
