/** CPU seconds that `readCpuS` counts during `work`, for each second. */
export async function cpuShareDuring(readCpuS: () => number, work: () => Promise<unknown>): Promise<number> {
  const [beforeS, startedAtMs] = [readCpuS(), performance.now()]
  await work()
  return ((readCpuS() - beforeS) * 1000) / (performance.now() - startedAtMs)
}
