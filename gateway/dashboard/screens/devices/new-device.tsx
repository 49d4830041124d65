import { useState } from 'preact/hooks'
import type { Credential } from '#dashboard/live/credentials.ts'
import { columnText, deviceTexts } from '#dashboard/texts/devices.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { SendForm } from '#dashboard/ui/fields/send-form.tsx'
import { TextField } from '#dashboard/ui/text-field.tsx'
import { ApiError } from '#shared/client.ts'
import { AdminList } from '../more/admin-list.tsx'
import { useAdminList } from '../more/use-admin-list.ts'
import { Credentials } from './credentials.tsx'
import { DeviceFields, toFields } from './device-fields.tsx'
import { type GroupJson, useRegister } from './use-devices.ts'

export function NewDevice() {
  const { groups, types } = useRegister()
  const list = useAdminList(async () => ({ types: await types(), groups: await groups() }))
  return <AdminList of={list}>{(known) => <NewDeviceForm {...known} />}</AdminList>
}

interface KnownProps {
  types: readonly { name: string }[]
  groups: readonly GroupJson[]
}

function NewDeviceForm({ types, groups }: KnownProps) {
  const { api } = useDashboard()
  const texts = deviceTexts()
  const [hardwareId, setHardwareId] = useState('')
  const preset = types.find(({ name }) => name === 'teebox') ?? types[0]
  const [draft, setDraft] = useState({ deviceType: preset?.name ?? '', name: '', cart: '', groupId: '' })
  const [made, setMade] = useState<readonly Credential[]>([])
  const [wrong, setWrong] = useState<string | null>(null)
  const add = async () => {
    const body = { hardware_id: hardwareId.trim(), ...toFields(draft) }
    setWrong(null)
    const added = await api.call('POST /devices', { body }).catch((error: unknown) => {
      const [field] = error instanceof ApiError ? error.errors : []
      if (field === undefined) throw error
      setWrong(texts.codes.invalid?.(columnText(field.name)) ?? null)
    })
    if (added === undefined) return
    const { device, mqtt } = added
    const { hardware_id, name = null, cart } = device
    // earlier ones may be neither printed nor saved yet
    setMade((before) => [...before, { hardwareId: hardware_id, name, cart, password: mqtt.password }])
    setHardwareId('')
    setDraft({ ...draft, name: '', cart: '' })
  }
  return (
    <>
      {made.length > 0 && <Credentials of={made} />}
      <section class="panel">
        <h2>{texts.add}</h2>
        <SendForm action={texts.add} isReady={hardwareId.trim() !== ''} onSend={add}>
          <TextField
            name={texts.hardwareId}
            hint={texts.hardwareIdHint}
            max={64}
            value={hardwareId}
            onInput={setHardwareId}
          />
          <DeviceFields draft={draft} types={types} groups={groups} onChange={setDraft} />
          <Fault text={wrong} />
        </SendForm>
      </section>
    </>
  )
}
