import { type HubTimes, siteHealth, unconfirmedRows } from '#hub/sites/state.ts'
import type { AuditFigures, SiteFigures, SiteRow } from '#hub/store/site-figures.ts'
import { isoOrNull, toIso } from '#shared/time.ts'
import type { SiteJson } from '#shared/wire/sites.ts'

/** A site as lists and answers show it. */
export function toSiteJson(site: SiteRow, figures: SiteFigures, times: HubTimes, maxBytes: number): SiteJson {
  const { state, explanation, warnings } = siteHealth(site, figures, times, maxBytes)
  const { nowMs } = times
  const { last_seen_ms: seenMs } = site
  return {
    site_id: site.site_id,
    name: site.name,
    created_at: toIso(site.created_at_ms),
    state,
    explanation,
    warnings,
    devices: figures.devices,
    freshness: {
      last_seen: isoOrNull(seenMs),
      seconds: seenMs === null ? null : Math.max(0, (nowMs - seenMs) / 1000),
    },
    backlog: { rows: site.backlog_rows, oldest: isoOrNull(site.backlog_oldest_ms) },
    unconfirmed_rows: unconfirmedRows(site, times),
    storage: { bytes: site.stored_bytes, max_bytes: maxBytes === 0 ? null : maxBytes },
    gaps: { count: figures.gapCount, rows: figures.gapRows },
    audit: figures.audit === null ? null : toAuditJson(figures.audit),
    clock: { offset_ms: site.clock_offset_ms, is_trusted: site.is_clock_trusted },
    program: site.program,
    epochs: figures.epochs.map(({ epoch, forked_from, reason, first_seen_ms, last_seen_ms }) => ({
      epoch,
      forked_from,
      reason,
      first_seen: toIso(first_seen_ms),
      last_seen: toIso(last_seen_ms),
    })),
    keys: figures.keys,
  }
}

function toAuditJson({ auditedAtMs, rows, confirmed, missing, extra }: AuditFigures): SiteJson['audit'] {
  const summary = `${confirmed.toLocaleString('en-US')} of ${rows.toLocaleString('en-US')}`
  return { audited_at: toIso(auditedAtMs), rows, confirmed, missing, extra, summary }
}
