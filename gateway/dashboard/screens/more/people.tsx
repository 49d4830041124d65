import { useState } from 'preact/hooks'
import { moreTexts } from '#dashboard/texts/more.ts'
import { tabletTexts } from '#dashboard/texts/tablets.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import type { UserJson } from '#shared/wire/users.ts'
import { AdminList } from './admin-list.tsx'
import { PinDialog } from './pin-dialog.tsx'
import { useAdminList } from './use-admin-list.ts'
import { NewUserFields, useUserChoice } from './user-choice.tsx'

const NOBODY: readonly UserJson[] = []

/** Who works here, and who of them may act on a shared tablet. */
export function PeoplePage() {
  const { api } = useDashboard()
  const list = useAdminList(() => api.call('GET /users'))
  return (
    <AdminList of={list}>
      {(users) => (
        <>
          <People users={users} onChange={list.again} />
          <NewPerson key={users.length} onChange={list.again} />
        </>
      )}
    </AdminList>
  )
}

function People({ users, onChange }: { users: readonly UserJson[]; onChange: () => Promise<void> }) {
  const texts = tabletTexts()
  const { roles } = moreTexts()
  const [chosen, choose] = useState<UserJson | null>(null)
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
                  user.has_pin ? texts.hasPin : texts.noPin,
                  ...(user.is_active ? [] : [texts.off]),
                ].join(' · ')}
              </p>
            </div>
            <button
              type="button"
              class="button"
              aria-label={`${texts.setPin}: ${user.name}`}
              onClick={() => choose(user)}
            >
              {texts.setPin}
            </button>
          </li>
        ))}
      </ul>
      {chosen !== null && (
        <PinDialog
          userId={chosen.user_id}
          title={texts.pinFor(chosen.name)}
          onClose={() => {
            choose(null)
            void onChange()
          }}
        />
      )}
    </section>
  )
}

function NewPerson({ onChange }: { onChange: () => Promise<void> }) {
  const texts = tabletTexts()
  const choice = useUserChoice([...NOBODY])
  const { send, fault, isSending } = useSending()
  const add = async () => {
    await choice.take()
    await onChange()
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
        <NewUserFields choice={choice} />
        <Fault text={fault} />
        <button type="submit" class="button main" disabled={isSending}>
          {texts.add}
        </button>
      </form>
    </section>
  )
}
