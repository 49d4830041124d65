import { alertTexts } from '#dashboard/texts/alerts.ts'
import { notifyTexts } from '#dashboard/texts/notify.ts'
import { TickField } from '#dashboard/ui/fields/tick-field.tsx'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'

interface KindsFieldProps {
  /** Null means all kinds, including those of later versions. */
  kinds: readonly AlertKind[] | null
  onKinds: (kinds: AlertKind[] | null) => void
}

/** Field for the alert kinds that a recipient is notified of. */
export function KindsField({ kinds, onKinds }: KindsFieldProps) {
  const texts = notifyTexts()
  const words = alertTexts().kinds
  const toggle = (kind: AlertKind) => {
    const known = kinds ?? []
    const next = known.includes(kind) ? known.filter((one) => one !== kind) : [...known, kind]
    onKinds(next.length === 0 ? null : next)
  }
  return (
    <fieldset class="ticks">
      <legend>{texts.kinds}</legend>
      <TickField name={texts.allKinds} isOn={kinds === null} onChange={() => onKinds(null)} />
      {kindsOf(words).map((kind) => (
        <TickField key={kind} name={words[kind]} isOn={kinds?.includes(kind) ?? false} onChange={() => toggle(kind)} />
      ))}
    </fieldset>
  )
}

function kindsOf(words: Record<AlertKind, string>): AlertKind[] {
  // the texts cover exactly the alert kinds
  return Object.keys(words) as AlertKind[]
}
