import type { SiteZone } from '#shared/zones/zone.ts'

/** Temporary override that turns a zone on or off. */
export interface ZoneSwitch {
  /** State before the first override, to which it returns. */
  wasEnabled: boolean
  /** Time since which the zone has been on, or off, without a break. */
  sinceMs: number
  /** End of the override; null until it is changed. */
  untilMs: number | null
  by: { userId: string; name: string }
}

/** Zones of the site as now in force, and their overrides. */
export interface SwitchableZones {
  zones: readonly SiteZone[]
  /** Keyed by zone id. */
  switches: ReadonlyMap<string, ZoneSwitch>
}

export const NO_SWITCHES: ReadonlyMap<string, ZoneSwitch> = new Map()

/** Sets an override of these zones. A zone that already has one returns to its state before the first. */
export function switchZones(
  { zones, switches }: SwitchableZones,
  zoneIds: ReadonlySet<string>,
  { isEnabled, ...switched }: { isEnabled: boolean } & Omit<ZoneSwitch, 'wasEnabled'>,
): SwitchableZones {
  const now = new Map(switches)
  for (const { id, isEnabled: wasNow } of zones) {
    if (!zoneIds.has(id)) continue
    const known = switches.get(id)
    const sinceMs = known !== undefined && wasNow === isEnabled ? known.sinceMs : switched.sinceMs
    now.set(id, { ...switched, wasEnabled: known?.wasEnabled ?? wasNow, sinceMs })
  }
  return {
    zones: zones.map((zone) => (zoneIds.has(zone.id) ? withEnabled(zone, isEnabled) : zone)),
    switches: now,
  }
}

/** Removes expired overrides; null if none has expired. */
export function expireOverrides({ zones, switches }: SwitchableZones, nowMs: number): SwitchableZones | null {
  const over = new Map([...switches].filter(([, { untilMs }]) => untilMs !== null && untilMs <= nowMs))
  if (over.size === 0) return null
  return {
    zones: zones.map((zone) => withEnabled(zone, over.get(zone.id)?.wasEnabled ?? zone.isEnabled)),
    switches: new Map([...switches].filter(([id]) => !over.has(id))),
  }
}

/** Replaces the zones; overrides stay only for zones that are the same objects. */
export function replaceZones(
  { zones: before, switches }: SwitchableZones,
  zones: readonly SiteZone[],
): SwitchableZones {
  const same = new Set(before)
  const staying = new Set(zones.filter((zone) => same.has(zone)).map(({ id }) => id))
  return { zones, switches: new Map([...switches].filter(([id]) => staying.has(id))) }
}

export function withoutSwitches({ zones, switches }: SwitchableZones): readonly SiteZone[] {
  if (switches.size === 0) return zones
  return zones.map((zone) => withEnabled(zone, switches.get(zone.id)?.wasEnabled ?? zone.isEnabled))
}

/** Returns the zones with each one enabled that is so now or after its override: devices must have room for these. */
export function zonesWithPendingOverrides({ zones, switches }: SwitchableZones): readonly SiteZone[] {
  const waiting = zones.filter(({ id, isEnabled }) => !isEnabled && switches.get(id)?.wasEnabled === true)
  if (waiting.length === 0) return zones
  return zones.map((zone) => (waiting.includes(zone) ? withEnabled(zone, true) : zone))
}

function withEnabled(zone: SiteZone, isEnabled: boolean): SiteZone {
  return zone.isEnabled === isEnabled ? zone : { ...zone, isEnabled }
}
