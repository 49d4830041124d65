import { useState } from 'preact/hooks'
import { groupTexts } from '#dashboard/texts/devices.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import { refusalText } from '#dashboard/ui/refusal.ts'
import { useSending } from '#dashboard/ui/sending.ts'
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
  const { api, gate } = useDashboard()
  const texts = groupTexts()
  const [name, setName] = useState(group.name)
  const { send, fault, isSending } = useSending()
  const rename = async () => {
    const path = { groupId: group.group_id }
    await gate.act(() => api.call('PATCH /groups/{groupId}', { path, body: { name: name.trim() } }))
    await onChange()
  }
  return (
    <section class="panel">
      <h3>{texts.rename}</h3>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void send(rename)
        }}
      >
        <TextField name={texts.name} max={200} value={name} onInput={setName} />
        <Fault text={fault} />
        <button type="submit" class="button" disabled={isSending || ['', group.name].includes(name.trim())}>
          {texts.rename}
        </button>
      </form>
    </section>
  )
}

function Removal({ group }: { group: GroupJson }) {
  const { api, router } = useDashboard()
  const texts = groupTexts()
  const [isAsked, ask] = useState(false)
  const remove = async () => {
    await api.call('DELETE /groups/{groupId}', { path: { groupId: group.group_id } })
    router.go('more', 'groups')
  }
  return (
    <>
      <button type="button" class="button danger" onClick={() => ask(true)}>
        {texts.remove}
      </button>
      {isAsked && (
        <Question
          title={texts.removeTitle(group.name)}
          action={texts.remove}
          isDanger
          isReady={group.device_count === 0}
          onCancel={() => ask(false)}
          onAnswer={remove}
          refusal={(error) => (error.code === 'group_not_empty' ? texts.notEmpty : refusalText(error))}
        >
          <p>{group.device_count === 0 ? texts.removeWhy : texts.notEmpty}</p>
        </Question>
      )}
    </>
  )
}
