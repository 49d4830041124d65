import { alertTexts } from '#dashboard/texts/alerts.ts'
import { fleetTexts } from '#dashboard/texts/fleet.ts'
import { siteTexts } from '#dashboard/texts/site.ts'
import { TickField } from '#dashboard/ui/fields/tick-field.tsx'
import { SERVICE_KINDS } from '#shared/site/settings.ts'
import { ALERT_KINDS, isSiteKind } from '#shared/wire/alert-kinds.ts'
import type { SiteEditor } from './site-editor.ts'

/** Rules for vehicles other than golf carts: locks, and the alerts that open. */
export function VehicleFields({ editor }: { editor: SiteEditor }) {
  const texts = siteTexts()
  const { settings, edits, edit, isReadOnly } = editor
  return (
    <>
      <p class="small">{texts.vehiclesWhy}</p>
      {SERVICE_KINDS.map((kind) => {
        const changes = edits.vehicle_kinds?.[kind]
        const rules = settings.vehicle_kinds[kind]
        const isAutoLock = changes?.auto_lock ?? rules.auto_lock
        const isLockedAtClosing = changes?.lock_at_closing ?? rules.lock_at_closing
        const alerts: readonly string[] = changes?.alerts ?? rules.alerts
        const change = (field: typeof changes) =>
          edit({ vehicle_kinds: { ...edits.vehicle_kinds, [kind]: { ...changes, ...field } } })
        return (
          <fieldset key={kind} class="ticks" disabled={isReadOnly}>
            <legend>{fleetTexts().kinds[kind]}</legend>
            <TickField name={texts.autoLock} isOn={isAutoLock} onChange={(isOn) => change({ auto_lock: isOn })} />
            <TickField
              name={texts.lockAtClosing}
              isOn={isLockedAtClosing}
              onChange={(isOn) => change({ lock_at_closing: isOn })}
            />
            {ALERT_KINDS.filter((alert) => !isSiteKind(alert)).map((alert) => (
              <TickField
                key={alert}
                name={`${texts.sections.silent}: ${alertTexts().kinds[alert]}`}
                isOn={alerts.includes(alert)}
                onChange={(isOn) =>
                  change({ alerts: isOn ? [...alerts, alert] : alerts.filter((one) => one !== alert) })
                }
              />
            ))}
          </fieldset>
        )
      })}
    </>
  )
}
