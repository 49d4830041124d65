import { useState } from 'preact/hooks'
import { formatAge } from '#dashboard/texts/format.ts'
import { tabletTexts } from '#dashboard/texts/tablets.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Dialog } from '#dashboard/ui/dialog.tsx'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import type { SessionJson } from '#shared/wire/sessions.ts'
import { nameOf, type Tablets } from './tablet-list.ts'

interface SignedInTabletsProps {
  tablets: Tablets
  onChange: () => Promise<void>
}

/** List of all signed-in browsers, the most recently used first. */
export function SignedInTablets({ tablets, onChange }: SignedInTabletsProps) {
  const { me, clock, second } = useDashboard()
  const texts = tabletTexts()
  const [chosen, choose] = useState<SessionJson | null>(null)
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
              <button
                type="button"
                class="button"
                aria-label={`${texts.signOut}: ${session.name}`}
                onClick={() => choose(session)}
              >
                {texts.signOut}
              </button>
            )}
          </li>
        ))}
      </ul>
      {chosen !== null && (
        <Revoke
          session={chosen}
          onClose={() => {
            choose(null)
            void onChange()
          }}
        />
      )}
    </section>
  )
}

function Revoke({ session, onClose }: { session: SessionJson; onClose: () => void }) {
  const { api, gate } = useDashboard()
  const texts = tabletTexts()
  const { send, fault, isSending } = useSending()
  const revoke = async () => {
    await gate.act(() => api.call('DELETE /sessions/{id}', { path: { id: session.session_id } }))
    onClose()
  }
  return (
    <Dialog title={texts.signOutOf(session.name)} onCancel={onClose}>
      <p>{texts.signOutWhy}</p>
      <Fault text={fault} />
      <div class="dialog-buttons">
        <button type="button" class="button" onClick={onClose}>
          {texts.cancel}
        </button>
        <button type="button" class="button danger" disabled={isSending} onClick={() => void send(revoke)}>
          {texts.signOut}
        </button>
      </div>
    </Dialog>
  )
}
