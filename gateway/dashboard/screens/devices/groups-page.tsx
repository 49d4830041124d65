import './devices.css'
import { useState } from 'preact/hooks'
import { groupTexts } from '#dashboard/texts/devices.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import { TextField } from '#dashboard/ui/text-field.tsx'
import { AdminList } from '../more/admin-list.tsx'
import { useAdminList } from '../more/use-admin-list.ts'
import { GroupPage } from './group-page.tsx'
import { toPage } from './pages.ts'
import { useRegister } from './use-devices.ts'

/** Pages of the device groups: the list, or one group. */
export function GroupsPage() {
  const { router } = useDashboard()
  const texts = groupTexts()
  const [, id] = (router.route.value.rest ?? '').split('/')
  if (id === undefined) return <GroupList />
  return (
    <div class="devices-part">
      <a class="button" href={toPage('groups')}>
        {texts.back}
      </a>
      <GroupPage key={id} groupId={Number(id)} />
    </div>
  )
}

function GroupList() {
  const { groups } = useRegister()
  const texts = groupTexts()
  const list = useAdminList(groups)
  return (
    <div class="devices-part">
      <p>{texts.what}</p>
      <AdminList of={list}>
        {(all) => (
          <>
            {all.length === 0 ? (
              <p>{texts.none}</p>
            ) : (
              <nav class="panel more-links" aria-label={texts.title}>
                {all.map(({ group_id, name, device_count }) => (
                  <a key={group_id} href={toPage('groups', String(group_id))}>
                    <span class="cut" dir="auto">
                      {name}
                    </span>
                    <span class="small">{texts.members(device_count)}</span>
                  </a>
                ))}
              </nav>
            )}
            <NewGroup key={all.length} />
          </>
        )}
      </AdminList>
    </div>
  )
}

function NewGroup() {
  const { api, gate, router } = useDashboard()
  const texts = groupTexts()
  const [name, setName] = useState('')
  const { send, fault, isSending } = useSending()
  const create = async () => {
    const { group_id } = await gate.act(() => api.call('POST /groups', { body: { name: name.trim() } }))
    router.go('more', `groups/${group_id}`)
  }
  return (
    <section class="panel">
      <h2>{texts.create}</h2>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void send(create)
        }}
      >
        <TextField name={texts.name} max={200} value={name} onInput={setName} />
        <Fault text={fault} />
        <button type="submit" class="button main" disabled={isSending || name.trim() === ''}>
          {texts.create}
        </button>
      </form>
    </section>
  )
}
