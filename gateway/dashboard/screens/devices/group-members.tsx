import { useState } from 'preact/hooks'
import { deviceTexts, groupTexts } from '#dashboard/texts/devices.ts'
import { AskButton } from '#dashboard/ui/ask-button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { SelectField } from '#dashboard/ui/fields/select-field.tsx'
import { SendForm } from '#dashboard/ui/fields/send-form.tsx'
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
  const members = devices.filter(({ group_id }) => group_id === group.group_id)
  const takeOut = async ({ hardware_id: id }: DeviceJson) => {
    await api.call('DELETE /groups/{groupId}/devices/{id}', { path: { groupId: group.group_id, id } })
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
              <div class="line">
                <a class="cut grow" dir="auto" href={toPage('devices', 'id', device.hardware_id)}>
                  {nameOf(device)}
                </a>
                <AskButton
                  action={texts.takeOut}
                  label={`${texts.takeOut}: ${device.hardware_id}`}
                  title={texts.takeOutTitle(device.hardware_id)}
                  means={texts.takeOutWhy}
                  onAnswer={() => takeOut(device)}
                />
              </div>
            )}
          </VirtualList>
        </div>
      )}
      <AddMember group={group} devices={devices} onChange={onChange} />
    </section>
  )
}

function AddMember({ group, devices, onChange }: GroupMembersProps) {
  const { api } = useDashboard()
  const texts = groupTexts()
  const [id, setId] = useState('')
  const others = devices.filter(({ group_id }) => group_id !== group.group_id)
  const add = async () => {
    await api.call('PUT /groups/{groupId}/devices/{id}', { path: { groupId: group.group_id, id } })
    setId('')
    await onChange()
  }
  return (
    <SendForm action={texts.add} isReady={id !== ''} onSend={add}>
      <SelectField
        name={texts.addMember}
        value={id}
        options={new Map([['', texts.choose], ...others.map((one) => [one.hardware_id, nameOf(one)] as const)])}
        onChoose={setId}
      />
    </SendForm>
  )
}

function nameOf({ hardware_id, name, cart }: DeviceJson): string {
  const parts = [name, hardware_id, cart === null ? undefined : deviceTexts().cartOf(cart)]
  return parts.filter((part) => part !== undefined).join(' · ')
}
