import { alertTexts } from '#dashboard/texts/alerts.ts'
import { notifyTexts } from '#dashboard/texts/notify.ts'
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
    <fieldset class="kinds">
      <legend>{texts.kinds}</legend>
      <label>
        <input type="checkbox" checked={kinds === null} onChange={() => onKinds(null)} />
        {texts.allKinds}
      </label>
      {kindsOf(words).map((kind) => (
        <label key={kind}>
          <input type="checkbox" checked={kinds?.includes(kind) ?? false} onChange={() => toggle(kind)} />
          {words[kind]}
        </label>
      ))}
    </fieldset>
  )
}

function kindsOf(words: Record<AlertKind, string>): AlertKind[] {
  // the texts cover exactly the alert kinds
  return Object.keys(words) as AlertKind[]
}
