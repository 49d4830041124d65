import './sign-in.css'
import type { ComponentChildren } from 'preact'
import { Icon } from '#dashboard/ui/icons.tsx'
import { TlsBanner } from '#dashboard/ui/tls-banner.tsx'
import { LanguageChoice } from '../language-choice.tsx'

/** What is around every step of signing in. */
export function SignInPage({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <main class="sign-in">
      <div class="sign-in-column">
        <div class="sign-in-head">
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
