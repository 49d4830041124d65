import { useState } from 'preact/hooks'
import { cartTexts } from '#dashboard/texts/cart.ts'
import { cartActionTexts } from '#dashboard/texts/cart-actions.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Question } from '#dashboard/ui/question.tsx'
import { TextField } from '#dashboard/ui/text-field.tsx'
import { TimeZone } from '#shared/site/time-zone.ts'
import { MINUTE_MS } from '#shared/time.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import type { InputOf } from '#shared/wire/operation-types.ts'

/** Zone types that keep a cart in or out; parking, holes and messages forbid nothing. */
const FORBIDDING: readonly ZoneType[] = ['alert', 'stop', 'slow', 'boundary']
/** Default selection: leaving the cart path, as for a golfer with a disability flag. */
const USUAL: readonly ZoneType[] = ['alert', 'stop']
const WHY_MAX = 200

type ZoneType = CartJson['zones'][number]['type']
type Exempt = NonNullable<InputOf<'PATCH /carts/{cart}'>['body']['exempt']>

interface AskProps<Answer> {
  cart: CartJson
  onCancel: () => void
  onAnswer: (answer: Answer) => void | Promise<void>
}

/** Question for access to forbidden zones: zone types, end and reason. */
export function AskExempt({ cart, onCancel, onAnswer }: AskProps<Exempt>) {
  const { clock, site } = useDashboard()
  const texts = cartActionTexts()
  const { zoneTypes } = cartTexts()
  const [types, setTypes] = useState<readonly ZoneType[]>(USUAL)
  const [until, setUntil] = useState('')
  const [why, setWhy] = useState('')
  const answer = () => {
    const zone = new TimeZone(site.value.time_zone)
    const untilMs = until === '' ? null : momentOf(zone, clock.nowMs(), until)
    return onAnswer({
      zone_types: [...types],
      why: why.trim(),
      ...(untilMs === null ? {} : { until: new Date(untilMs).toISOString() }),
    })
  }
  const toggle = (type: ZoneType, isIn: boolean) =>
    setTypes(isIn ? [...types, type] : types.filter((one) => one !== type))
  return (
    <Question
      title={texts.askExempt(cart.cart)}
      action={texts.allow}
      isReady={types.length > 0 && why.trim() !== ''}
      onCancel={onCancel}
      onAnswer={answer}
    >
      <p>{texts.exemptMeans}</p>
      <fieldset class="exempt-types">
        <legend>{texts.exemptZones}</legend>
        {FORBIDDING.map((type) => (
          <label key={type}>
            <input
              type="checkbox"
              checked={types.includes(type)}
              onChange={({ currentTarget }) => toggle(type, currentTarget.checked)}
            />
            {zoneTypes[type]}
          </label>
        ))}
      </fieldset>
      <label class="field">
        {texts.exemptUntil}
        <input type="time" value={until} onInput={({ currentTarget }) => setUntil(currentTarget.value)} />
      </label>
      <TextField name={texts.why} max={WHY_MAX} value={why} onInput={setWhy} />
    </Question>
  )
}

export function AskExemptOver({ cart, onCancel, onAnswer }: AskProps<null>) {
  const texts = cartActionTexts()
  return (
    <Question
      title={texts.askExemptOver(cart.cart)}
      action={texts.end}
      onCancel={onCancel}
      onAnswer={() => onAnswer(null)}
    >
      <p dir="auto">{cart.exempt?.why}</p>
    </Question>
  )
}

/** Returns the next time at which the clocks of the course show `time`, `HH:MM`. */
function momentOf(zone: TimeZone, nowMs: number, time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number)
  const today = zone.local(nowMs).date
  const atMs = zone.instantOf(today, hours * 60 + minutes)
  if (atMs > nowMs) return atMs
  return zone.instantOf(zone.local(zone.day(today).untilMs + MINUTE_MS).date, hours * 60 + minutes)
}
