import type { Sql } from '#hub/store/database/database.ts'
import { openCartAlerts } from '#hub/store/site-alerts.ts'
import { type CartDeviceRow, cartDevicesOf, cartNotesOf } from '#hub/store/site-carts.ts'
import { partiesOf } from '#hub/store/site-parties.ts'
import { siteSettingsOf } from '#hub/store/site-settings.ts'
import { groupByCart } from '#shared/carts/cart-keys.ts'
import { type CartDevice, type CartSettings, type CartZoneContext, evaluateCart } from '#shared/carts/cart-state.ts'
import { tripDefaultsOf } from '#shared/site/settings.ts'
import { DAY_MS, toIso } from '#shared/time.ts'
import { NO_CART_NOTES, type ShownCart } from '#shared/wire/cart-json.ts'
import { cartReportSchema, readCartReport } from '#shared/wire/cart-report.ts'
import { cartNoteBodySchema } from '#shared/wire/carts.ts'
import { cartPartiesOf } from '#shared/wire/parties/party-json.ts'

export interface SiteCart extends ShownCart {
  readonly zoneContext: CartZoneContext
}

/** Age of parties whose carts may still be out: all are returned at the next opening. */
const OUT_MS = 10 * DAY_MS

interface KnownDevice {
  hardwareId: string
  deviceType: string
  name: string | null
  isOnline: boolean
  cart: string | null
  report: CartDevice
  autoLockAtMs: number | null
  zoneContext: CartZoneContext
}

/** Returns the carts of a site in natural order, by the last report of their gateway and the clock of the hub. */
export async function siteCarts(sql: Sql, siteId: string, nowMs: number): Promise<SiteCart[]> {
  const site = await siteSettingsOf(sql, siteId)
  const settings: CartSettings = { ...site, movingKmh: tripDefaultsOf(site).speedThreshold }
  const notes = new Map((await cartNotesOf(sql, siteId)).map(({ key, body }) => [key, readNotes(body, nowMs)]))
  const alerts = Map.groupBy(await openCartAlerts(sql, siteId), ({ cart }) => cart)
  const parties = cartPartiesOf(
    await partiesOf(sql, siteId, { from: toIso(nowMs - OUT_MS).slice(0, 10) }),
    site.minutesPerHole,
    nowMs,
  )
  const devices = (await cartDevicesOf(sql, siteId)).map(readDevice)
  return [...groupByCart(devices)].map(([key, members]) => {
    const zoneContext = {
      hasParking: members.some((member) => member.zoneContext.hasParking),
      hasBoundary: members.some((member) => member.zoneContext.hasBoundary),
    }
    const reports = members.map((member) => member.report)
    const verdict = evaluateCart(reports, zoneContext, settings, { nowMs, startedAtMs: 0 })
    const cart = { key, devices: members, zoneContext, verdict, notes: notes.get(key) ?? NO_CART_NOTES }
    const openAlertIds = (alerts.get(key) ?? []).map(({ alertId }) => alertId)
    const lock = members.find(({ hardwareId }) => hardwareId === verdict.lock?.hardwareId)
    const party = parties.get(key) ?? null
    return { ...cart, party, autoLockAtMs: lock?.autoLockAtMs ?? null, openAlertIds }
  })
}

function readDevice({ body, cartReport }: CartDeviceRow): KnownDevice {
  const device: Record<string, unknown> = JSON.parse(body)
  const textOf = (name: string) => (typeof device[name] === 'string' ? device[name] : null)
  const known = {
    hardwareId: textOf('hardware_id') ?? '',
    deviceType: textOf('device_type') ?? '',
    isOnline: device.is_online === true,
  }
  const parsed = cartReportSchema.safeParse(JSON.parse(cartReport ?? 'null'))
  const json = parsed.success ? parsed.data : null
  return {
    ...known,
    name: textOf('name'),
    cart: textOf('cart'),
    report: readCartReport(json, known),
    autoLockAtMs: json?.auto_lock_at_ms ?? null,
    zoneContext: { hasParking: json?.has_parking ?? false, hasBoundary: json?.has_boundary ?? false },
  }
}

function readNotes(body: string, nowMs: number): ShownCart['notes'] {
  const parsed = cartNoteBodySchema.safeParse(JSON.parse(body))
  if (!parsed.success) return NO_CART_NOTES
  const { out_of_service: out, exempt, note, kind } = parsed.data
  const readBy = ({ user_id, name }: { user_id: string; name: string }) => ({ userId: user_id, name })
  return {
    outOfService: out && { sinceMs: out.since_ms, why: out.why, reason: out.reason ?? null, by: readBy(out.by) },
    exempt:
      exempt === null || exempt.until_ms <= nowMs
        ? null
        : {
            zoneTypes: exempt.zone_types,
            untilMs: exempt.until_ms,
            why: exempt.why,
            by: readBy(exempt.by),
          },
    note: note || null,
    kind: kind ?? NO_CART_NOTES.kind,
  }
}
