import type { Track } from './track.ts'

/** Device of a cart with its positions. */
export interface TrackedDevice {
  hardwareId: string
  deviceType: string
  track: Track
}

/** Single track of a cart; for each position, the device that reported it. */
export interface SpokenTrack extends Track {
  readonly device: Uint8Array
}

/** Age difference from which another device replaces the lock as the source of the position. */
const LOCK_IS_BEHIND_MS = 60_000
const LOCK_TYPE = 'teebox'

/**
 * Merges the positions of all devices of a cart. Its lock has priority unless another device has a position that is
 * over a minute newer. For a cart without a lock the latest position of any device counts.
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
    // of two reports with the same time the later one counts
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

/** Returns the device that reported most of the track; undefined for a track without positions. */
export function mainDevice(devices: readonly TrackedDevice[], { device }: SpokenTrack): TrackedDevice | undefined {
  const counts = devices.map(() => 0)
  for (const who of device) counts[who] = (counts[who] ?? 0) + 1
  const most = Math.max(0, ...counts)
  return most === 0 ? undefined : devices[counts.indexOf(most)]
}

/** Returns the device whose next position is the oldest; of equal ones the lock comes last, so that it prevails. */
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
