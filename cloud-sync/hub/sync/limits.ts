import type { SyncLimits } from '#shared/wire/sync.ts'

/** What a hub takes. A request is at most this large when it is unpacked, a part this large before base64. */
export const LIMITS: SyncLimits = {
  part_bytes: 1_048_576,
  body_bytes: 8_388_608,
  parts: 64,
  min_interval_ms: 0,
  latest_interval_ms: 5_000,
}
