import { useState } from 'preact/hooks'
import { deviceTexts, groupTexts } from '#dashboard/texts/devices.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import { refusalText } from '#dashboard/ui/refusal.ts'
import { useSending } from '#dashboard/ui/sending.ts'
import { VirtualList } from '#dashboard/ui/virtual-list.tsx'
import { toPage } from './pages.ts'
import type { DeviceJson, GroupJson } from './use-devices.ts'

const ROW_PX = 72

interface GroupMembersProps {
  group: GroupJson
  devices: readonly DeviceJson[]
  onChange: () => Promise<void>
}

/** Devices of a group; each device is in one group at most. */
export function GroupMembers({ group, devices, onChange }: GroupMembersProps) {
  const { api } = useDashboard()
  const texts = groupTexts()
  const [leaving, setLeaving] = useState<DeviceJson | null>(null)
  const members = devices.filter(({ group_id }) => group_id === group.group_id)
  const takeOut = async () => {
    if (leaving === null) return
    const path = { groupId: group.group_id, id: leaving.hardware_id }
    await api.call('DELETE /groups/{groupId}/devices/{id}', { path })
    setLeaving(null)
    await onChange()
  }
  return (
    <section class="panel">
      <h3>{texts.members(members.length)}</h3>
      {members.length > 0 && (
        <div class="group-members">
          <VirtualList
            items={members}
            rowPx={ROW_PX}
            label={texts.members(members.length)}
            keyOf={({ hardware_id }) => hardware_id}
          >
            {(device) => (
              <div class="group-member">
                <a class="cut" dir="auto" href={toPage('devices', 'id', device.hardware_id)}>
                  {nameOf(device)}
                </a>
                <button
                  type="button"
                  class="button"
                  aria-label={`${texts.takeOut}: ${device.hardware_id}`}
                  onClick={() => setLeaving(device)}
                >
                  {texts.takeOut}
                </button>
              </div>
            )}
          </VirtualList>
        </div>
      )}
      <AddMember group={group} devices={devices} onChange={onChange} />
      {leaving !== null && (
        <Question
          title={texts.takeOutTitle(leaving.hardware_id)}
          action={texts.takeOut}
          isDanger
          onCancel={() => setLeaving(null)}
          onAnswer={takeOut}
          refusal={refusalText}
        >
          <p>{texts.takeOutWhy}</p>
        </Question>
      )}
    </section>
  )
}

function AddMember({ group, devices, onChange }: GroupMembersProps) {
  const { api, gate } = useDashboard()
  const texts = groupTexts()
  const [id, setId] = useState('')
  const { send, fault, isSending } = useSending()
  const add = async () => {
    const path = { groupId: group.group_id, id }
    await gate.act(() => api.call('PUT /groups/{groupId}/devices/{id}', { path }))
    setId('')
    await onChange()
  }
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        void send(add)
      }}
    >
      <label class="field">
        {texts.addMember}
        <select value={id} onChange={({ currentTarget }) => setId(currentTarget.value)}>
          <option value="">{texts.choose}</option>
          {devices
            .filter(({ group_id }) => group_id !== group.group_id)
            .map((device) => (
              <option key={device.hardware_id} value={device.hardware_id}>
                {nameOf(device)}
              </option>
            ))}
        </select>
      </label>
      <Fault text={fault} />
      <button type="submit" class="button" disabled={isSending || id === ''}>
        {texts.add}
      </button>
    </form>
  )
}

function nameOf({ hardware_id, name, cart }: DeviceJson): string {
  const parts = [name, hardware_id, cart === null ? undefined : deviceTexts().cartOf(cart)]
  return parts.filter((part) => part !== undefined).join(' · ')
}
