import type { Context } from 'hono'
import type { Device } from '#services/fleet.ts'
import type { TelemetryStream } from '#shared/ids.ts'
import type { Store } from '#store/store.ts'

/** Header with the warning for a response that is a file or a bare array. */
const HEADER = 'cartbarn-warning'

/**
 * Warns, in a header and in the returned object, that records of a range may be missing because they lie in damaged
 * blocks. Returns an empty object if the range has no damaged blocks.
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
