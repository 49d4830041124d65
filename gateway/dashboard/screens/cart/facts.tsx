import type { ComponentChildren } from 'preact'
import { cartTexts } from '#dashboard/texts/cart.ts'
import { formatAge, formatMoment, formatSpeed, formatVoltage } from '#dashboard/texts/format.ts'
import { BatteryBar } from '#dashboard/ui/battery-bar.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import { placeText } from '../place-text.ts'

/** Details of the cart, each value with its age. */
export function CartDetails({ cart }: { cart: CartJson }) {
  const { clock, second, site } = useDashboard()
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  const texts = cartTexts()
  const { position, lock, last_heard_at } = cart
  const age = (at: string | undefined) => (at === undefined || nowMs === 0 ? null : formatAge(at, nowMs))
  const who = lock?.by ?? texts.sources.get(lock?.source ?? '')
  const by = who === undefined ? null : texts.by(who)
  return (
    <dl class="cart-facts">
      <Fact name={texts.position} age={age(position?.at)}>
        {placeText(cart)}
      </Fact>
      <Fact name={texts.speed} age={age(position?.at)}>
        {position?.speed == null ? '–' : formatSpeed(position.speed, site.value.units)}
      </Fact>
      <Fact name={texts.lock} age={[by, age(lock?.at)].filter((part) => part != null).join(', ')}>
        {lock === null ? texts.notKnown : lock.is_locked ? texts.locked : texts.unlocked}
      </Fact>
      <Fact name={texts.lastHeard} age={cart.devices.some(({ is_online }) => is_online) ? null : texts.offline}>
        {last_heard_at === null ? texts.never : (age(last_heard_at) ?? '–')}
      </Fact>
    </dl>
  )
}

function Fact({ name, age, children }: { name: string; age: string | null; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd dir="auto">{children}</dd>
      {age !== null && age !== '' && (
        <dd class="small" dir="auto">
          {age}
        </dd>
      )}
    </div>
  )
}

/** Battery level, or the voltage while the full voltage is not configured. */
export function CartBattery({ cart: { battery, is_low } }: { cart: CartJson }) {
  const { clock, second } = useDashboard()
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  const texts = cartTexts()
  if (battery === null) return null
  const { percent, voltage, rest_voltage, at, rest_at } = battery
  const rest = rest_voltage === null ? [] : [`${formatVoltage(rest_voltage)} ${texts.atRest}`]
  const restAge = rest_at === null ? [] : [formatAge(rest_at, nowMs)]
  const parts = [
    ...(rest.length === 0 ? [] : [[...rest, ...restAge].join(', ')]),
    `${percent === null ? '' : `${formatVoltage(voltage)}, `}${formatAge(at, nowMs)}`,
  ]
  return (
    <div class={`battery ${is_low ? 'low' : ''}`}>
      <span class="battery-name">{texts.battery}</span>
      <BatteryBar percent={percent} isLow={is_low} />
      <strong>{percent === null ? formatVoltage(voltage) : `${percent} %`}</strong>
      <span class="small">{parts.join(' · ')}</span>
    </div>
  )
}

/** Zones of the cart, and staff notes on it. */
export function CartNotesPanel({ cart }: { cart: CartJson }) {
  const { clock, site, second } = useDashboard()
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  const texts = cartTexts()
  const time = (at: string) => formatMoment(Date.parse(at), nowMs, site.value.time_zone)
  const { out_of_service: service, exempt, note, out_since, auto_lock_at, zones } = cart
  return (
    <ul class="remarks">
      {service !== null && (
        <li class="remark-strong" dir="auto">
          {`${texts.outOfService}: ${service.why} (${service.by.name}, ${time(service.since)})`}
        </li>
      )}
      {exempt !== null && (
        <li dir="auto">
          {`${texts.exempt(exempt.zone_types.map((type) => texts.zoneTypes[type]).join(', '), time(exempt.until))}: ` +
            `${exempt.why} (${exempt.by.name})`}
        </li>
      )}
      {note !== null && <li dir="auto">{`${texts.note}: ${note}`}</li>}
      {out_since !== null && <li>{texts.outSince(time(out_since))}</li>}
      {auto_lock_at !== null && <li>{texts.autoLock(time(auto_lock_at))}</li>}
      {zones.length > 0 && (
        <li dir="auto">
          {`${texts.zones}: ${zones.map(({ name, since }) => `${name} (${texts.since(time(since))})`).join(', ')}`}
        </li>
      )}
    </ul>
  )
}
