import type { Track } from './track.ts'

/** A device of a cart and where it was. */
export interface TrackedDevice {
  hardwareId: string
  deviceType: string
  track: Track
}

/** The one track of a cart; for each position, which of the devices told it. */
export interface SpokenTrack extends Track {
  readonly device: Uint8Array
}

/** Another device speaks once the lock has been behind it for so long. */
const LOCK_IS_BEHIND_MS = 60_000
const LOCK_TYPE = 'teebox'

/**
 * Where a cart was, by all its devices: its lock speaks, unless another device has a position that is over a minute
 * newer. A cart without a lock is where any of them said it was last.
 */
export function cartTrack(devices: readonly TrackedDevice[]): SpokenTrack {
  const total = devices.reduce((sum, { track }) => sum + track.atMs.length, 0)
  const next = devices.map(() => 0)
  const spoken = {
    atMs: new Float64Array(total),
    latE7: new Int32Array(total),
    longE7: new Int32Array(total),
    speedKmh: new Float32Array(total),
    device: new Uint8Array(total),
  }
  let count = 0
  let lockMs = Number.NEGATIVE_INFINITY
  for (let read = 0; read < total; read++) {
    const who = earliest(devices, next)
    const at = next[who] ?? 0
    next[who] = at + 1
    const device = devices[who]
    if (device === undefined) break
    const { track, deviceType } = device
    const atMs = track.atMs[at] ?? 0
    if (deviceType === LOCK_TYPE) lockMs = atMs
    else if (atMs - lockMs <= LOCK_IS_BEHIND_MS) continue
    // two that speak at the same time: the later word counts
    if (count > 0 && spoken.atMs[count - 1] === atMs) count--
    spoken.atMs[count] = atMs
    spoken.latE7[count] = track.latE7[at] ?? 0
    spoken.longE7[count] = track.longE7[at] ?? 0
    spoken.speedKmh[count] = track.speedKmh[at] ?? Number.NaN
    spoken.device[count] = who
    count++
  }
  return {
    atMs: spoken.atMs.subarray(0, count),
    latE7: spoken.latE7.subarray(0, count),
    longE7: spoken.longE7.subarray(0, count),
    speedKmh: spoken.speedKmh.subarray(0, count),
    device: spoken.device.subarray(0, count),
  }
}

/** The device that told most of the track; undefined where it has no position. */
export function mainDevice(devices: readonly TrackedDevice[], { device }: SpokenTrack): TrackedDevice | undefined {
  const counts = devices.map(() => 0)
  for (const who of device) counts[who] = (counts[who] ?? 0) + 1
  const most = Math.max(0, ...counts)
  return most === 0 ? undefined : devices[counts.indexOf(most)]
}

/** The device whose next position is the oldest; of equals the lock, which then speaks last. */
function earliest(devices: readonly TrackedDevice[], next: readonly number[]): number {
  let who = 0
  let firstMs = Number.POSITIVE_INFINITY
  for (const [i, { track }] of devices.entries()) {
    const atMs = track.atMs[next[i] ?? 0] ?? Number.POSITIVE_INFINITY
    if (atMs >= firstMs) continue
    firstMs = atMs
    who = i
  }
  return who
}
