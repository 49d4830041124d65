import { useState } from 'preact/hooks'
import { groupTexts } from '#dashboard/texts/devices.ts'
import { AskButton } from '#dashboard/ui/ask-button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { SendForm } from '#dashboard/ui/fields/send-form.tsx'
import { refusalText } from '#dashboard/ui/refusal.ts'
import { TextField } from '#dashboard/ui/text-field.tsx'
import { AdminList } from '../more/admin-list.tsx'
import { useAdminList } from '../more/use-admin-list.ts'
import { GroupConfig } from './group-config.tsx'
import { GroupMembers } from './group-members.tsx'
import { type GroupJson, useRegister } from './use-devices.ts'

export function GroupPage({ groupId }: { groupId: number }) {
  const { groups, devices } = useRegister()
  const texts = groupTexts()
  const list = useAdminList(async () => ({ groups: await groups(), devices: await devices() }))
  return (
    <AdminList of={list}>
      {({ groups: all, devices: known }) => {
        const group = all.find(({ group_id }) => group_id === groupId)
        if (group === undefined) return <p>{texts.unknown}</p>
        return (
          <>
            <h2 dir="auto">{group.name}</h2>
            <GroupMembers group={group} devices={known} onChange={list.again} />
            <GroupConfig groupId={groupId} />
            <Rename key={group.name} group={group} onChange={list.again} />
            <Removal group={group} />
          </>
        )
      }}
    </AdminList>
  )
}

function Rename({ group, onChange }: { group: GroupJson; onChange: () => Promise<void> }) {
  const { api } = useDashboard()
  const texts = groupTexts()
  const [name, setName] = useState(group.name)
  const rename = async () => {
    const path = { groupId: group.group_id }
    await api.call('PATCH /groups/{groupId}', { path, body: { name: name.trim() } })
    await onChange()
  }
  return (
    <section class="panel">
      <h3>{texts.rename}</h3>
      <SendForm action={texts.rename} isReady={!['', group.name].includes(name.trim())} onSend={rename}>
        <TextField name={texts.name} max={200} value={name} onInput={setName} />
      </SendForm>
    </section>
  )
}

function Removal({ group }: { group: GroupJson }) {
  const { api, router } = useDashboard()
  const texts = groupTexts()
  return (
    <AskButton
      action={texts.remove}
      title={texts.removeTitle(group.name)}
      means={group.device_count === 0 ? texts.removeWhy : texts.notEmpty}
      isReady={group.device_count === 0}
      refusal={(error) => (error.code === 'group_not_empty' ? texts.notEmpty : refusalText(error))}
      onAnswer={async () => {
        await api.call('DELETE /groups/{groupId}', { path: { groupId: group.group_id } })
        router.go('more', 'groups')
      }}
    />
  )
}
