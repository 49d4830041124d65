import './sign-in.css'
import type { ComponentChildren } from 'preact'
import { LANGUAGES } from '#dashboard/texts/texts.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon } from '#dashboard/ui/icons.tsx'
import { TlsBanner } from '#dashboard/ui/tls-banner.tsx'

const NAMES = { en: 'English', de: 'Deutsch' } as const

/** Language choice; each language has its native name. */
function LanguageChoice() {
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

/** Frame around every step of signing in. */
export function SignInPage({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <main class="sign-in">
      <div class="sign-in-column">
        <div class="row">
          <span class="sign-in-flag">
            <Icon name="flag" />
          </span>
          <h1>{title}</h1>
        </div>
        <TlsBanner />
        {children}
        <LanguageChoice />
      </div>
    </main>
  )
}
