import { formatAge } from '#dashboard/texts/format.ts'
import { tabletTexts } from '#dashboard/texts/tablets.ts'
import { AskButton } from '#dashboard/ui/ask-button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { nameOf, type Tablets } from './tablet-list.ts'

interface SignedInTabletsProps {
  tablets: Tablets
  onChange: () => Promise<void>
}

/** List of all signed-in browsers, the most recently used first. */
export function SignedInTablets({ tablets, onChange }: SignedInTabletsProps) {
  const { api, me, clock, second } = useDashboard()
  const texts = tabletTexts()
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  const sessions = [...tablets.sessions].sort((a, b) => (a.last_used_at < b.last_used_at ? 1 : -1))
  return (
    <section class="panel">
      <h2>{texts.signedIn}</h2>
      <ul class="items">
        {sessions.map((session) => (
          <li key={session.session_id}>
            <div class="what">
              <p dir="auto">
                <strong>{session.name}</strong>
              </p>
              <p class="small" dir="auto">
                {[
                  nameOf(tablets, session.user_id),
                  session.person?.name,
                  texts.lastUsed(formatAge(session.last_used_at, nowMs)),
                ]
                  .filter((part) => part !== undefined)
                  .join(' · ')}
              </p>
            </div>
            {session.session_id === me.value?.session?.session_id ? (
              <span>{texts.thisTablet}</span>
            ) : (
              <AskButton
                action={texts.signOut}
                label={`${texts.signOut}: ${session.name}`}
                title={texts.signOutOf(session.name)}
                means={texts.signOutWhy}
                onAnswer={async () => {
                  await api.call('DELETE /sessions/{id}', { path: { id: session.session_id } })
                  await onChange()
                }}
              />
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
