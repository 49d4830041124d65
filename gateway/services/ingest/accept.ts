import { receiveTimeMs } from '#domain/event-time.ts'
import { newestEventMs } from '#domain/latest-state.ts'
import type { SessionChange } from '#domain/mqtt-sessions.ts'
import type { Tally } from '#shared/tally.ts'
import { deviceTopic } from '#shared/wire/mqtt.ts'
import type { NewQuarantineEntry } from '#store/quarantine.ts'
import type { GatewayClock } from '../clock/gateway-clock.ts'
import type { Device } from '../fleet.ts'
import type { DeviceConnection } from '../presence.ts'
import type { Drop, Uplinked, UplinkMessage } from './message.ts'
import { parseUplink, type UplinkContent } from './uplink-parser.ts'
import { liveFromMs } from './zone-crossings.ts'

interface AcceptDeps {
  clock: GatewayClock
  dropped: Tally
}

const QUARANTINE_BYTES = 4096

const NOTHING: readonly never[] = []

/** The first moment of a message: its payload is parsed and its time is decided. Nothing is stored or shown yet. */
export class Accept {
  readonly #deps: AcceptDeps
  #drops: Drop[] = []

  constructor(deps: AcceptDeps) {
    this.#deps = deps
  }

  /** Makes a device's message into what waits for the disk. Never throws: what cannot be read goes to the quarantine. */
  accept(
    device: Device,
    connection: DeviceConnection | null,
    uplinked: Uplinked,
    sessionChanges: readonly SessionChange[],
    onStored: () => void,
    onRefused: (reason: string) => void,
  ): UplinkMessage {
    const { clock } = this.#deps
    const receivedAtMs = clock.nowMs()
    const latestMs = clock.latestEventMs(receivedAtMs)
    const content = this.#parse(device, uplinked, receivedAtMs, latestMs)
    const drops = this.#drops.length === 0 ? NOTHING : this.#drops.splice(0)
    const { samples, lockEvents, unreadable } = content
    return {
      rows: Math.max(1, samples.length + lockEvents.length + sessionChanges.length),
      sessionChanges,
      device,
      connection,
      receivedAtMs,
      latestMs,
      isResponse: !uplinked.isWill,
      content,
      drops,
      quarantine: unreadable === null ? null : quarantineEntry(device, uplinked, unreadable, receivedAtMs),
      onStored: () => {
        if (device.isRegistered) onStored()
        else onRefused('device_removed')
      },
      onRefused,
      moves: NOTHING,
      late: NOTHING,
      liveFromMs: liveFromMs(samples, receivedAtMs, clock.isTrusted),
      crossings: NOTHING,
      stored: null,
    }
  }

  readonly #onDrop = (reason: string, count = 1): void => {
    this.#drops.push({ reason, count })
    this.#deps.dropped.add(reason, count)
  }

  #parse(device: Device, uplinked: Uplinked, receivedAtMs: number, latestMs: number): UplinkContent {
    const { clock } = this.#deps
    if (!clock.isTrusted) {
      // what the device said last is later than anything we could guess
      device.newestReceiveMs = Math.max(device.newestReceiveMs, newestEventMs(device.reported.state))
    }
    const atMs = receiveTimeMs(receivedAtMs, device.newestReceiveMs, latestMs)
    const content = parseUplink(uplinked.level, uplinked.payload, atMs, latestMs, this.#onDrop)
    device.newestReceiveMs = atMs
    if (!clock.isTrusted) {
      const saidMs = newestMs(content)
      device.newestReceiveMs = Math.max(atMs, saidMs)
      if (saidMs !== atMs) clock.heard(device.row.hardwareId, saidMs)
    }
    return content
  }
}

/** The newest time of what a message says; 0 when it says nothing that has a time. */
function newestMs({ samples, lockEvents }: UplinkContent): number {
  let newestMs = 0
  for (const { atMs } of samples) newestMs = Math.max(newestMs, atMs)
  for (const { atMs } of lockEvents) newestMs = Math.max(newestMs, atMs)
  return newestMs
}

function quarantineEntry(
  device: Device,
  uplinked: Uplinked,
  reason: string,
  receivedAtMs: number,
): NewQuarantineEntry {
  const { hardwareId } = device.row
  return {
    receivedAtMs,
    hardwareId,
    topic: deviceTopic(hardwareId, uplinked.level),
    reason,
    sizeBytes: uplinked.payload.length,
    // a copy of its own: the payload is a view of the socket's whole chunk
    payload: new Uint8Array(uplinked.payload.subarray(0, QUARANTINE_BYTES)),
  }
}
