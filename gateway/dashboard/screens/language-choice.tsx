import { LANGUAGES } from '#dashboard/texts/texts.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'

const NAMES = { en: 'English', de: 'Deutsch' } as const

/** Each language under its own name. */
export function LanguageChoice() {
  const { preferences, site } = useDashboard()
  return (
    <div class="row">
      {LANGUAGES.map((name) => (
        <button
          key={name}
          type="button"
          class="button"
          lang={name}
          aria-pressed={site.value.language === name}
          onClick={() => preferences.choose({ language: name })}
        >
          {NAMES[name]}
        </button>
      ))}
    </div>
  )
}
