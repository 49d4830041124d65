import './cart-path/cart-path.css'
import { useEffect, useMemo } from 'preact/hooks'
import { type PathHole, pathHoles } from '#dashboard/live/cart-path.ts'
import { toHash } from '#dashboard/live/route.ts'
import { SiteZones } from '#dashboard/map/site-zones.ts'
import { cartPathTexts } from '#dashboard/texts/cart-path.ts'
import { formatMoment } from '#dashboard/texts/format.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { NotKnown } from '#dashboard/ui/not-known.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import { Breaches } from './cart-path/breaches.tsx'
import { DeliveryStatus } from './cart-path/delivery-status.tsx'

/** Cart path page: holes with cart path only until closing, carts that have received it, and carts that violated it. */
export function CartPathPage() {
  const dashboard = useDashboard()
  const { api, gate } = dashboard
  const texts = cartPathTexts()
  const zones = useMemo(() => new SiteZones(dashboard), [dashboard])
  useEffect(() => {
    zones.start()
    return () => zones.stop()
  }, [zones])
  const { isSending, fault, send } = useSending()
  const known = zones.current.value
  if (known === null) return <NotKnown />
  const holes = pathHoles(known)
  const areOn = holes.some(({ onIds }) => onIds.length > 0)
  const toggle = (zone_ids: string[], enabled: boolean) =>
    void send(() => gate.act(async () => void (await api.call('POST /zones/switch', { body: { zone_ids, enabled } }))))
  if (holes.length === 0)
    return (
      <>
        <p>{texts.what}</p>
        <p>{texts.none}</p>
        <a class="button" href={toHash('more', 'zones')}>
          {texts.toZones}
        </a>
      </>
    )
  return (
    <div class="cart-path">
      <p>{texts.what}</p>
      <ul class="path-holes" aria-label={texts.holes}>
        {holes.map((hole) => (
          <li key={hole.hole}>
            <HoleButton hole={hole} isSending={isSending} onToggle={toggle} />
          </li>
        ))}
      </ul>
      <div class="row">
        <button
          type="button"
          class="button main"
          disabled={isSending || holes.every(({ zoneIds, onIds }) => zoneIds.length === onIds.length)}
          onClick={() =>
            toggle(
              holes.flatMap(({ zoneIds }) => zoneIds),
              true,
            )
          }
        >
          {texts.all}
        </button>
        <button
          type="button"
          class="button"
          disabled={isSending || !areOn}
          onClick={() =>
            toggle(
              holes.flatMap(({ onIds }) => onIds),
              false,
            )
          }
        >
          {texts.allOff}
        </button>
      </div>
      <p role="status" class={isSending ? '' : 'visually-hidden'}>
        {isSending ? texts.working : ''}
      </p>
      <Fault text={fault} />
      <DeliveryStatus version={known.version} />
      {areOn && <Breaches zones={known.features} />}
    </div>
  )
}

interface HoleButtonProps {
  hole: PathHole
  isSending: boolean
  onToggle: (zoneIds: string[], enabled: boolean) => void
}

/** Button of a hole: on as soon as one of its zones is; a tap switches all of them off. */
function HoleButton({ hole: { hole, zoneIds, onIds, until, by }, isSending, onToggle }: HoleButtonProps) {
  const { clock, site } = useDashboard()
  const texts = cartPathTexts()
  const isOn = onIds.length > 0
  const time = until === null ? null : formatMoment(Date.parse(until), clock.nowMs(), site.value.time_zone)
  return (
    <button
      type="button"
      class="path-hole"
      aria-pressed={isOn}
      disabled={isSending}
      onClick={() => (isOn ? onToggle(onIds, false) : onToggle(zoneIds, true))}
    >
      <b>
        <span class="visually-hidden">{texts.hole} </span>
        {hole}
      </b>
      <span>{isOn ? texts.on : texts.off}</span>
      {isOn && <span class="path-until">{time === null ? texts.noEnd : texts.until(time)}</span>}
      {isOn && by !== null && by !== '' && (
        <span class="path-until cut" dir="auto">
          {texts.by(by)}
        </span>
      )}
    </button>
  )
}
