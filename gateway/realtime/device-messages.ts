import { isOfLock } from '#domain/commands.ts'
import type { GatewayEvents } from '#gateway/events.ts'
import { maskCode } from '#shared/masked-codes.ts'
import { toIso } from '#shared/time.ts'
import type { DeviceJson } from '#shared/wire/devices.ts'
import type { ServerMessage } from '#shared/wire/realtime.ts'
import type { MaskedMessage } from './fan-out.ts'

// Messages to the watchers of devices. Generators, because the fan-out builds them after the acknowledgements.

/** Yields messages about readings that changed the state of their device. */
export function* readingsMessage(run: GatewayEvents['reported']): Generator<MaskedMessage> {
  const { hardwareId } = run
  const updated_at = toIso(run.updatedAtMs)
  const last_responded_at = toIso(run.lastRespondedAtMs)
  for (const { atMs, values } of run.moves) {
    const timestamp = toIso(atMs)
    yield {
      message: { type: 'device_data', hardwareId, payload: values, timestamp, updated_at, last_responded_at },
    }
  }
}

/** Yields the message about readings that only went to history. */
export function* backfillMessage({
  hardwareId,
  fromMs,
  toMs,
  count,
}: GatewayEvents['backfilled']): Generator<MaskedMessage> {
  yield { message: { type: 'device_backfill', hardwareId, from: toIso(fromMs), to: toIso(toMs), count } }
}

/** Yields the message about a device that connected or disconnected. */
export function* presenceMessage({
  hardwareId,
  isOnline,
  atMs,
}: GatewayEvents['presenceChanged']): Generator<MaskedMessage> {
  const payload = { is_online: isOnline }
  yield { message: { type: 'device_status', hardwareId, payload, timestamp: toIso(atMs) } }
}

/** Yields the message about a registered or changed device, with its state when it is sent; none if it was removed. */
export function* deviceMessage(
  hardwareId: string,
  show: (hardwareId: string) => DeviceJson | undefined,
): Generator<MaskedMessage> {
  const device = show(hardwareId)
  if (device !== undefined) yield { message: { type: 'device_changed', hardwareId, device } }
}

export function* deviceRemovedMessage(hardwareId: string): Generator<MaskedMessage> {
  yield { message: { type: 'device_removed', hardwareId } }
}

/** Yields the message about a lock event, with its code masked for connections that must not see codes. */
export function* lockMessage(event: GatewayEvents['lockChanged']): Generator<MaskedMessage> {
  const { code } = event
  yield {
    message: lockMessageBody(event, code),
    masked: code === null ? undefined : lockMessageBody(event, maskCode(code)),
  }
}

function lockMessageBody(
  { hardwareId, event, eventId, source, metadataJson, atMs }: GatewayEvents['lockChanged'],
  shownCode: string | null,
): ServerMessage {
  return {
    type: event === 'lock' ? 'device_locked' : 'device_unlocked',
    hardwareId,
    eventId,
    source,
    ...(shownCode === null ? {} : { code: shownCode }),
    ...(metadataJson === null ? {} : { metadata: JSON.parse(metadataJson) }),
    timestamp: toIso(atMs),
  }
}

/** Yields the message about a device that entered or left a zone. */
export function* crossingMessage({ event, atMs, ...crossed }: GatewayEvents['zoneCrossed']): Generator<MaskedMessage> {
  yield { message: { type: `geofence_${event}`, ...crossed, timestamp: toIso(atMs) } }
}

export function* commandMessage({ command, atMs }: GatewayEvents['commandMoved']): Generator<MaskedMessage> {
  const { commandId, hardwareId, status, error, requestedBy } = command
  yield {
    message: {
      type: 'command_status',
      commandId,
      hardwareId,
      command: command.command,
      status,
      ...(error === null ? {} : { error }),
      ...(isOfLock(command) ? { requestedBy } : {}),
      timestamp: toIso(atMs),
    },
  }
}
