import { ForkedScript } from '../calls.ts'
import { ADMIN_KEY, type GatewayProcess } from '../gateway-process.ts'
import type { Workbench } from '../processes.ts'
import { peakDuring, quietResidentBytes } from '../quiet-memory.ts'
import { printProgress } from '../report.ts'
import type { RunContext } from '../scenario.ts'
import type { Download, DownloadFunctions } from './download-client.ts'

/** Request of an admin, with a path that includes its query. */
export function downloadOf({ ports }: GatewayProcess, path: string): Download {
  return { port: ports.http, path, key: ADMIN_KEY }
}

/** Starts a client that downloads, one after the other. */
export function startDownloadClient(bench: Workbench): ForkedScript<DownloadFunctions> {
  return new ForkedScript(bench, new URL('./download-client.ts', import.meta.url))
}

/** Does `work` while a client downloads in a loop; also counts the downloads that ended meanwhile. */
export async function besideDownloads<Result>(
  bench: Workbench,
  downloads: readonly Download[],
  work: () => Promise<Result>,
): Promise<{ result: Result; downloads: number }> {
  const client = startDownloadClient(bench)
  let isOver = false
  let ended = 0
  const downloading = (async () => {
    while (!isOver) {
      for (const download of downloads) {
        await client.call('download', download)
        ended++
      }
    }
  })()
  try {
    const failed = downloading.then((): never => {
      throw new Error('the downloads ended before the load')
    })
    return { result: await Promise.race([work(), failed]), downloads: ended }
  } finally {
    isOver = true
    client.kill()
    // the client was killed during a download
    await downloading.catch(() => undefined)
  }
}

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
