import './devices.css'
import { useState } from 'preact/hooks'
import { groupTexts } from '#dashboard/texts/devices.ts'
import { ButtonLink } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { SendForm } from '#dashboard/ui/fields/send-form.tsx'
import { Panes } from '#dashboard/ui/lists/panes.tsx'
import { Table } from '#dashboard/ui/lists/table.tsx'
import { TextField } from '#dashboard/ui/text-field.tsx'
import { AdminList } from '../more/admin-list.tsx'
import { useAdminList } from '../more/use-admin-list.ts'
import { GroupPage } from './group-page.tsx'
import { type GroupJson, useRegister } from './use-devices.ts'

/** Device groups: the list, and next to it one of them. */
export function GroupsPage() {
  const { router } = useDashboard()
  const { groups } = useRegister()
  const texts = groupTexts()
  const [, id] = (router.route.value.rest ?? '').split('/')
  const list = useAdminList(groups)
  const chosen = id !== undefined && (
    <div class="stack">
      <p>
        <ButtonLink text={texts.back} href={router.beside('groups')} />
      </p>
      <GroupPage key={id} groupId={Number(id)} />
    </div>
  )
  return (
    <Panes
      list={
        <div class="filling">
          <p>{texts.what}</p>
          <AdminList of={list}>{(all) => <GroupList groups={all} chosen={id ?? null} />}</AdminList>
        </div>
      }
      chosen={chosen || null}
    />
  )
}

function GroupList({ groups, chosen }: { groups: readonly GroupJson[]; chosen: string | null }) {
  const { router } = useDashboard()
  const texts = groupTexts()
  return (
    <>
      <NewGroup key={groups.length} />
      {groups.length === 0 ? (
        <p>{texts.none}</p>
      ) : (
        <Table
          label={texts.title}
          items={groups}
          chosen={chosen}
          keyOf={({ group_id }) => String(group_id)}
          columns={[
            {
              key: 'name',
              title: texts.name,
              compare: (a, b) => a.name.localeCompare(b.name),
              cell: ({ group_id, name }) => (
                <a class="cart-name cut" dir="auto" href={router.beside(`groups/${group_id}`)}>
                  {name}
                </a>
              ),
            },
            {
              key: 'devices',
              title: texts.devices,
              compare: (a, b) => a.device_count - b.device_count,
              cell: ({ device_count }) => texts.members(device_count),
            },
          ]}
        />
      )}
    </>
  )
}

function NewGroup() {
  const { api, router } = useDashboard()
  const texts = groupTexts()
  const [name, setName] = useState('')
  const create = async () => {
    const { group_id } = await api.call('POST /groups', { body: { name: name.trim() } })
    router.go('more', `groups/${group_id}`)
  }
  return (
    <section class="panel">
      <h2>{texts.create}</h2>
      <SendForm action={texts.create} isReady={name.trim() !== ''} onSend={create}>
        <TextField name={texts.name} max={200} value={name} onInput={setName} />
      </SendForm>
    </section>
  )
}
