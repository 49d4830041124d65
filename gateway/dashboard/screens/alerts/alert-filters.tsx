import { useMemo, useState } from 'preact/hooks'
import type { AlertFilter } from '#dashboard/live/alert-list.ts'
import { alertTexts } from '#dashboard/texts/alerts.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon } from '#dashboard/ui/icons.tsx'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'

interface AlertFiltersProps {
  filter: AlertFilter
  onFilter: (filter: AlertFilter) => void
}

/** Filter of the list, which lives in the address. */
export function useAlertFilter(): [AlertFilter, (filter: AlertFilter) => void] {
  const { router } = useDashboard()
  const { kind = '', cart = '' } = router.route.value.query
  const filter = useMemo(() => ({ kind: kindOf(kind), cart }), [kind, cart])
  return [filter, (next) => router.choose({ kind: next.kind ?? '', cart: next.cart })]
}

export function AlertFilters({ filter, onFilter }: AlertFiltersProps) {
  const texts = alertTexts()
  return (
    <div class="alerts-filters">
      <label class="visually-hidden" for="alert-kind">
        {texts.kind}
      </label>
      <select
        id="alert-kind"
        class="input"
        onChange={({ currentTarget }) => onFilter({ ...filter, kind: kindOf(currentTarget.value) })}
      >
        <option value="">{texts.allKinds}</option>
        {Object.entries(texts.kinds).map(([kind, words]) => (
          <option key={kind} value={kind} selected={kind === filter.kind}>
            {words}
          </option>
        ))}
      </select>
      <input
        class="input alerts-cart"
        type="search"
        aria-label={texts.cart}
        placeholder={texts.cart}
        value={filter.cart}
        onInput={({ currentTarget }) => onFilter({ ...filter, cart: currentTarget.value.trim() })}
      />
    </div>
  )
}

/** Button that mutes new alerts on this tablet. */
export function SoundButton() {
  const { sound } = useDashboard()
  const texts = alertTexts()
  const [isMuted, setIsMuted] = useState(sound.isMuted)
  const mute = () => {
    sound.isMuted = !isMuted
    setIsMuted(!isMuted)
  }
  return (
    <button type="button" class="button" onClick={mute}>
      <Icon name="beep" />
      {`${texts.sound}: ${isMuted ? texts.off : texts.on}`}
    </button>
  )
}

function kindOf(value: string): AlertKind | null {
  const kinds: Partial<Record<string, string>> = alertTexts().kinds
  // the options of the list are alert kinds
  return kinds[value] === undefined ? null : (value as AlertKind)
}
