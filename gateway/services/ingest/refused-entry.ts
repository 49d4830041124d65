import { deviceTopic } from '#shared/wire/mqtt.ts'
import type { NewQuarantineEntry } from '#store/tables/quarantine.ts'
import type { UplinkMessage } from './message.ts'

/** A message that could not be stored because of damage, for the quarantine: all that was read from it, as JSON. */
export function refusedEntry({
  quarantine,
  content,
  device,
  level,
  receivedAtMs,
}: UplinkMessage): NewQuarantineEntry {
  if (quarantine !== null) return quarantine
  const { hardwareId } = device.row
  const payload = new TextEncoder().encode(JSON.stringify(content))
  const reason = 'store_damaged'
  return {
    receivedAtMs,
    hardwareId,
    topic: deviceTopic(hardwareId, level),
    reason,
    sizeBytes: payload.length,
    payload,
  }
}
