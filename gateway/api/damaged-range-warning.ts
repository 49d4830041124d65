import type { Context } from 'hono'
import type { Device } from '#services/fleet.ts'
import type { TelemetryStream } from '#shared/ids.ts'
import type { Store } from '#store/store.ts'

/** Where an answer that is a file or a bare array says what is missing in it. */
const HEADER = 'cartbarn-warning'

/**
 * Says what an answer about a range may lack because it lies in damaged blocks, in a header and in what is returned;
 * empty where nothing is missing.
 */
export function addMissingWarning(
  c: Context,
  store: Pick<Store, 'read'>,
  devices: readonly Device[],
  { stream, fromMs, toMs }: { stream: TelemetryStream; fromMs: number; toMs: number },
): { warnings?: string[] } {
  const deviceIds = devices.map(({ row }) => row.deviceId)
  const blocks = store.read.damagedBlocksIn({ deviceIds, stream, fromMs, toMs })
  if (blocks === 0) return {}
  const warning = `records of ${blocks} damaged block(s) of this range may be missing`
  c.header(HEADER, warning)
  return { warnings: [warning] }
}
