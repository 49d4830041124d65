import { InvalidRequestError } from '#shared/errors.ts'
import { COMPACT_BYTES_MAX } from '#shared/zones/compact.ts'
import { countForDevices, DEVICE_ZONES_MAX } from '#shared/zones/device-zones.ts'
import type { Zone } from '#shared/zones/zone.ts'
import type { ZoneMessages } from './messages.ts'

/** Throws `duplicate_id` if a zone has the id of one of these others; `whose` names them. */
export function requireFreeIds(zones: readonly Zone[], others: readonly Zone[], whose: string): void {
  const taken = new Set(others.map(({ id }) => id))
  const errors = zones.flatMap(({ id }, i) =>
    taken.has(id)
      ? [
          {
            in: 'body' as const,
            name: `features[${i}].id`,
            code: 'duplicate_id',
            detail: `is also the id of a zone of ${whose}`,
          },
        ]
      : [],
  )
  const [first] = errors
  if (first !== undefined) throw new InvalidRequestError('duplicate_id', `${first.name}: ${first.detail}`, errors)
}

/** Throws `too_many_zones` or `too_large` if devices cannot hold so many zones; `whose` names the devices. */
export async function requireRoom(
  zones: readonly Zone[],
  whose: string,
  messages: Pick<ZoneMessages, 'fitInTurns'>,
): Promise<void> {
  const deviceZones = countForDevices(zones)
  if (deviceZones > DEVICE_ZONES_MAX) {
    const detail = `devices of ${whose} would get ${deviceZones} zones; the limit is ${DEVICE_ZONES_MAX}`
    throw refusal('too_many_zones', detail)
  }
  const { bytes } = await messages.fitInTurns(zones)
  if (bytes > COMPACT_BYTES_MAX) {
    const size = `teeboxes of ${whose} would get ${bytes} bytes even with the fewest points`
    const detail = `${size}; the limit is ${COMPACT_BYTES_MAX}`
    throw refusal('too_large', detail)
  }
}

function refusal(code: string, detail: string): InvalidRequestError {
  return new InvalidRequestError(code, `features: ${detail}`, [{ in: 'body', name: 'features', code, detail }])
}
