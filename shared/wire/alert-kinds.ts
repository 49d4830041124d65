// Without the schema library; see replication/replicated.ts.

export const ALERT_KINDS = [
  'low_battery',
  'outside',
  'zone_stay',
  'moved_while_locked',
  'moved_after_hours',
  'silent_on_course',
  'open_after_closing',
  'out_after_closing',
  'not_charging',
  'standing',
  'service_due',
  'device_twice',
  'device_clock',
  'call',
  'disk',
  'clock',
  'sync',
  'backup',
  'certificate',
  'pin_locked',
] as const
export type AlertKind = (typeof ALERT_KINDS)[number]

/** Kinds that concern the site instead of a cart. */
const SITE_KINDS: ReadonlySet<string> = new Set<AlertKind>([
  'disk',
  'clock',
  'sync',
  'backup',
  'certificate',
  'pin_locked',
])

export function isSiteKind(kind: string): boolean {
  return SITE_KINDS.has(kind)
}

/** Kinds that a rule for vehicles may name. */
export const VEHICLE_ALERT_KINDS = ALERT_KINDS.filter((kind) => !isSiteKind(kind))
