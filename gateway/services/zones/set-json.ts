import type { ZoneSwitch } from '#domain/zone-switches.ts'
import type { ZoneSwitchesBody } from '#shared/wire/zones.ts'
import { fromSiteFeaturesJson } from '#shared/wire/zones-json.ts'
import type { ZoneSetRow } from '#store/tables/zones.ts'
import type { SiteZoneSet } from './sets.ts'

export function readZoneSet({ version, zonesJson, switchesJson }: ZoneSetRow): SiteZoneSet {
  // both were written only by this program
  const switches: ZoneSwitchesBody = JSON.parse(switchesJson)
  return {
    version,
    zones: fromSiteFeaturesJson(JSON.parse(zonesJson)),
    switches: new Map(
      Object.entries(switches).map(([zoneId, { was_enabled, since_ms, until_ms, by }]): [string, ZoneSwitch] => [
        zoneId,
        {
          wasEnabled: was_enabled,
          sinceMs: since_ms,
          untilMs: until_ms,
          by: { userId: by.user_id, name: by.name },
        },
      ]),
    ),
  }
}

/** Converts overrides to the names of the API, which the hub also reads. */
export function toSwitchesBody(switches: ReadonlyMap<string, ZoneSwitch>): ZoneSwitchesBody {
  return Object.fromEntries(
    [...switches].map(([zoneId, { wasEnabled, sinceMs, untilMs, by }]) => [
      zoneId,
      {
        was_enabled: wasEnabled,
        since_ms: sinceMs,
        until_ms: untilMs,
        by: { user_id: by.userId, name: by.name },
      },
    ]),
  )
}
