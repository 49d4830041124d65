import { InvalidRequestError } from '#shared/errors.ts'
import { GPS } from '#shared/telemetry/records.ts'
import { type Track, trackOf } from '#shared/trips/track.ts'
import type { TimeRange } from '../telemetry/reader.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'

/** Range of a device's fixes; one with more than `positionsMax` of them is refused. */
export interface TrackQuery extends TimeRange {
  deviceId: number
  hardwareId: string
  positionsMax: number
}

/** Reads all fixes of a range into memory that the thread's next track overwrites. Throws `too_many_positions`. */
export function readTrack(tools: ReaderTools, query: TrackQuery): Track {
  const { records, count } = tools.telemetry.read(GPS, query.deviceId, query, (room) => {
    requireFew(room, query)
    return tools.roomForFixes(room)
  })
  return trackOf(records, count)
}

/** Throws `too_many_positions`. */
export function checkRoom({ telemetry }: ReaderTools, query: TrackQuery): void {
  requireFew(telemetry.countAtMost(GPS, query.deviceId, query), query)
}

function requireFew(count: number, { hardwareId, positionsMax }: TrackQuery): void {
  if (count <= positionsMax) return
  const detail = `${hardwareId} has more than ${positionsMax} positions between from and to: choose a shorter range`
  throw new InvalidRequestError('too_many_positions', detail)
}
