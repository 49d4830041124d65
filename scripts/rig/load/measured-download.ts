import type { GatewayProcess } from '../gateway-process.ts'
import { peakDuring, quietResidentBytes } from '../quiet-memory.ts'
import { printProgress } from '../report.ts'
import type { RunContext } from '../scenario.ts'
import { downloadOf, startDownloadClient } from './download-process.ts'

/** Duration of a download, and peak of the gateway's resident memory above that at rest, of each round. */
export interface MeasuredDownload {
  readonly seconds: readonly number[]
  readonly aboveMb: readonly number[]
}

/** Downloads a path once a round, when the memory of the gateway has settled. */
export async function measureDownload(
  { bench, isShort, rounds }: Pick<RunContext, 'bench' | 'isShort' | 'rounds'>,
  gateway: GatewayProcess,
  path: string,
): Promise<MeasuredDownload> {
  const client = startDownloadClient(bench)
  const { pid } = gateway.process
  const [seconds, aboveMb]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    const idleBytes = await quietResidentBytes(pid, isShort)
    const { result, peakBytes } = await peakDuring(pid, () => client.call('download', downloadOf(gateway, path)))
    seconds.push(result.durationS)
    aboveMb.push((peakBytes - idleBytes) / 1e6)
    printProgress(`  ${seconds.at(-1)?.toFixed(2)} s, ${aboveMb.at(-1)?.toFixed(0)} MB above idle`)
  }
  client.kill()
  return { seconds, aboveMb }
}
