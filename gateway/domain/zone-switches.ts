import type { SiteZone } from '#shared/zones/zone.ts'

/** That a zone is on or off for a while. */
export interface ZoneSwitch {
  /** Before it was switched first: what it returns to. */
  wasEnabled: boolean
  /** Since when it has been on, or off, without a break. */
  sinceMs: number
  /** Null for until somebody switches it again. */
  untilMs: number | null
  by: { userId: string; name: string }
}

/** The zones of the site as they hold now, and what of that is for a while. */
export interface SwitchableZones {
  zones: readonly SiteZone[]
  /** By the id of the zone. */
  switches: ReadonlyMap<string, ZoneSwitch>
}

export const NO_SWITCHES: ReadonlyMap<string, ZoneSwitch> = new Map()

/** Switches these zones. One that is switched already returns to what it was before the first time. */
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

/** Undoes the switches whose time is over; null when there is none. */
export function expireOverrides({ zones, switches }: SwitchableZones, nowMs: number): SwitchableZones | null {
  const over = new Map([...switches].filter(([, { untilMs }]) => untilMs !== null && untilMs <= nowMs))
  if (over.size === 0) return null
  return {
    zones: zones.map((zone) => withEnabled(zone, over.get(zone.id)?.wasEnabled ?? zone.isEnabled)),
    switches: new Map([...switches].filter(([id]) => !over.has(id))),
  }
}

/** Puts other zones in their place: only of those that are the same objects switches stay. */
export function replaceZones(
  { zones: before, switches }: SwitchableZones,
  zones: readonly SiteZone[],
): SwitchableZones {
  const same = new Set(before)
  const staying = new Set(zones.filter((zone) => same.has(zone)).map(({ id }) => id))
  return { zones, switches: new Map([...switches].filter(([id]) => staying.has(id))) }
}

/** The zones as people drew them: what is in force once every switch is undone. */
export function withoutSwitches({ zones, switches }: SwitchableZones): readonly SiteZone[] {
  if (switches.size === 0) return zones
  return zones.map((zone) => withEnabled(zone, switches.get(zone.id)?.wasEnabled ?? zone.isEnabled))
}

/** With every zone enabled that is so now or will be when its switch is undone: devices must have room for these. */
export function zonesWithPendingOverrides({ zones, switches }: SwitchableZones): readonly SiteZone[] {
  const waiting = zones.filter(({ id, isEnabled }) => !isEnabled && switches.get(id)?.wasEnabled === true)
  if (waiting.length === 0) return zones
  return zones.map((zone) => (waiting.includes(zone) ? withEnabled(zone, true) : zone))
}

function withEnabled(zone: SiteZone, isEnabled: boolean): SiteZone {
  return zone.isEnabled === isEnabled ? zone : { ...zone, isEnabled }
}
