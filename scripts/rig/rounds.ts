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
