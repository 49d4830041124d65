import type { Answer, Answers } from './questions.ts'

/** Result of comparing a damaged gateway's response with the undamaged one's. */
export type Verdict =
  | 'the same'
  /** No response, or one that reports that something could not be read. */
  | 'refused'
  /** Something is missing in it. */
  | 'less'
  /** It contains something that the undamaged gateway's does not. */
  | 'other'

export interface Comparison {
  verdicts: Record<Verdict, number>
  differing: { question: string; verdict: Verdict }[]
}

/** Compares all responses with those of the undamaged gateway. */
export function compare(undamaged: Answers, damaged: Answers): Comparison {
  const known = leavesOf([...undamaged.values()].map(({ text }) => text))
  const comparison: Comparison = {
    verdicts: { 'the same': 0, refused: 0, less: 0, other: 0 },
    differing: [],
  }
  for (const [question, answer] of undamaged) {
    const verdict = judge(answer, damaged.get(question), known)
    comparison.verdicts[verdict]++
    if (verdict !== 'the same') comparison.differing.push({ question, verdict })
  }
  return comparison
}

function judge(undamaged: Answer, damaged: Answer | undefined, known: ReadonlySet<string>): Verdict {
  if (damaged === undefined) return 'refused'
  if (damaged.status === undamaged.status && damaged.text === undamaged.text) return 'the same'
  if (damaged.status === 0 || damaged.status >= 500 || damaged.isWarned) return 'refused'
  // counts differ rightly if something is missing, so a new value only matters if it is not a count
  for (const leaf of leavesOf([damaged.text])) if (!known.has(leaf) && !isCount(leaf)) return 'other'
  return 'less'
}

const COUNT = /\.(total|count|records|gps|battery|devices|device_count|commands|[a-zA-Z]*Count|[a-z_]*count)=/

/** True for sums over the rows read, which differ if something is missing. */
function isCount(leaf: string): boolean {
  return COUNT.test(leaf) || /summary|totals|pagination|telemetry/.test(leaf)
}

/** Every value in the texts, preceded by the names of its fields. */
function leavesOf(texts: readonly string[]): Set<string> {
  const leaves = new Set<string>()
  for (const text of texts) addLeaves(parse(text), '', leaves)
  return leaves
}

function addLeaves(value: unknown, name: string, leaves: Set<string>): void {
  if (Array.isArray(value)) for (const item of value) addLeaves(item, name, leaves)
  else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) addLeaves(inner, `${name}.${key}`, leaves)
  else leaves.add(`${name}=${String(value)}`)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
