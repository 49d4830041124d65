import { useState } from 'preact/hooks'
import { moreTexts } from '#dashboard/texts/more.ts'
import { peopleTexts } from '#dashboard/texts/people.ts'
import { tabletTexts } from '#dashboard/texts/tablets.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import type { UserJson } from '#shared/wire/users.ts'
import { AdminList } from './admin-list.tsx'
import { IssuedKey, PersonPanel } from './person-panel.tsx'
import { PinDialog } from './pin-dialog.tsx'
import { useAdminList } from './use-admin-list.ts'
import { NEW_USER, UserFields, useUserBody } from './user-fields.tsx'

const RELOAD_EVERY_MS = 4_000

/** People page: users, and those who may sign in on a shared tablet with a PIN. */
export function PeoplePage() {
  const { api } = useDashboard()
  const list = useAdminList(() => api.call('GET /users'), RELOAD_EVERY_MS)
  return (
    <AdminList of={list}>
      {(users) => (
        <>
          <p>{peopleTexts().why}</p>
          <People users={users} onChange={list.again} />
          <NewPerson onChange={list.again} />
        </>
      )}
    </AdminList>
  )
}

function People({ users, onChange }: { users: readonly UserJson[]; onChange: () => Promise<void> }) {
  const texts = tabletTexts()
  const { roles } = moreTexts()
  const { change } = peopleTexts()
  const [chosen, choose] = useState<{ user: UserJson; what: 'pin' | 'all' } | null>(null)
  const close = () => {
    choose(null)
    void onChange()
  }
  return (
    <section class="panel">
      <ul class="items">
        {users.map((user) => (
          <li key={user.user_id}>
            <div class="what">
              <p dir="auto">
                <strong>{user.name}</strong>
              </p>
              <p class="small">
                {[
                  roles[user.role],
                  ...(user.role === 'metrics' ? [] : [user.has_pin ? texts.hasPin : texts.noPin]),
                  ...(user.is_active ? [] : [texts.off]),
                ].join(' · ')}
              </p>
            </div>
            <span class="row">
              {user.role !== 'metrics' && (
                <button
                  type="button"
                  class="button"
                  aria-label={`${texts.setPin}: ${user.name}`}
                  onClick={() => choose({ user, what: 'pin' })}
                >
                  {texts.setPin}
                </button>
              )}
              <button
                type="button"
                class="button"
                aria-label={`${change}: ${user.name}`}
                onClick={() => choose({ user, what: 'all' })}
              >
                {change}
              </button>
            </span>
          </li>
        ))}
      </ul>
      {chosen?.what === 'all' && <PersonPanel user={chosen.user} onClose={close} />}
      {chosen?.what === 'pin' && (
        <PinDialog
          userId={chosen.user.user_id}
          hasPin={chosen.user.has_pin}
          title={texts.pinFor(chosen.user.name)}
          onClose={close}
        />
      )}
    </section>
  )
}

function NewPerson({ onChange }: { onChange: () => Promise<void> }) {
  const { api, gate } = useDashboard()
  const texts = tabletTexts()
  const [draft, setDraft] = useState(NEW_USER)
  const [made, setMade] = useState<{ name: string; apiKey: string } | null>(null)
  const bodyOf = useUserBody()
  const { send, fault, isSending } = useSending()
  const add = async () => {
    const { user, api_key } = await gate.act(() => api.call('POST /users', { body: bodyOf(draft) }))
    setMade({ name: user.name, apiKey: api_key })
  }
  const done = () => {
    setMade(null)
    setDraft(NEW_USER)
    void onChange()
  }
  return (
    <section class="panel">
      <h2>{texts.newPerson}</h2>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void send(add)
        }}
      >
        <UserFields draft={draft} onDraft={setDraft} />
        <Fault text={fault} />
        <button type="submit" class="button main" disabled={isSending || draft.name.trim() === ''}>
          {texts.add}
        </button>
      </form>
      {made !== null && <IssuedKey {...made} onDone={done} />}
    </section>
  )
}
