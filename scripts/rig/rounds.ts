/** Measures each subject once a round, in alternating order, so that none is always the later. */
export async function alternate<Subject, Run>(
  rounds: number,
  subjects: readonly Subject[],
  measure: (subject: Subject) => Promise<Run>,
): Promise<Run[][]> {
  const runs: Run[][] = subjects.map(() => [])
  for (let round = 0; round < rounds; round++) {
    const order = [...subjects.keys()]
    for (const i of round % 2 === 0 ? order : order.reverse()) runs[i]?.push(await measure(subjects[i] as Subject))
  }
  return runs
}

/** Values of each figure, from those of each round. */
export function byFigure<Key extends string>(rounds: readonly Readonly<Record<Key, number>>[]): Record<Key, number[]> {
  const [first] = rounds
  if (first === undefined) throw new Error('no rounds')
  const keys = Object.keys(first) as Key[]
  // every key of the first round
  return Object.fromEntries(keys.map((key) => [key, rounds.map((round) => round[key])])) as Record<Key, number[]>
}
