import { hasDuplicateGateway, TWO_GATEWAYS_SHOWN_MS } from '#hub/sites/state.ts'
import type { Sql } from '#hub/store/database/database.ts'
import { findSender, recordTwoGateways, type Sender, type SenderState, updateLastSeen } from '#hub/store/epochs.ts'
import type { LockedSite } from '#hub/store/sites.ts'
import { ConflictError } from '#shared/errors.ts'
import type { SyncWarning } from '#shared/wire/replication/sync.ts'

/** Maximum delay of requests that a gateway sent before a restart; later ones come from another gateway. */
const OLD_INSTANCE_MS = 60_000

/** Stores that a sender is active; `site` is locked by `inActiveSite`. Throws `unknown_epoch` before its hello. */
export async function registerSender(
  sql: Sql,
  site: LockedSite,
  sender: Sender,
  nowMs: number,
): Promise<SenderState & { readonly isOneOfTwo: boolean }> {
  const known = await findSender(sql, site.siteId, sender, nowMs - TWO_GATEWAYS_SHOWN_MS)
  if (known === undefined) {
    throw new ConflictError('unknown_epoch', 'the hub has received no hello from this epoch and instance')
  }
  await updateLastSeen(sql, site.siteId, sender, known, nowMs)
  const isOneOfTwo = known.newerSinceMs !== null && known.newerSinceMs < nowMs - OLD_INSTANCE_MS
  if (isOneOfTwo) await recordTwoGateways(sql, site.siteId, nowMs)
  return { ...known, isOneOfTwo }
}

export function warningsFor(
  site: LockedSite,
  { isOneOfTwo, hasQuarantine }: { isOneOfTwo: boolean; hasQuarantine: boolean },
  nowMs: number,
): SyncWarning[] {
  const warnings: SyncWarning[] = []
  if (isOneOfTwo || hasDuplicateGateway(site.twoGatewaysMs, nowMs)) warnings.push('two_gateways')
  if (hasQuarantine) warnings.push('quarantined')
  return warnings
}
