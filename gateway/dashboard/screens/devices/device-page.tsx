import { useState } from 'preact/hooks'
import type { Credential } from '#dashboard/live/credentials.ts'
import { deviceTexts } from '#dashboard/texts/devices.ts'
import { formatAge, formatCount, formatSpan } from '#dashboard/texts/format.ts'
import { AskButton } from '#dashboard/ui/ask-button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Facts } from '#dashboard/ui/facts.tsx'
import { SendForm } from '#dashboard/ui/fields/send-form.tsx'
import { TextField } from '#dashboard/ui/text-field.tsx'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import { AdminList } from '../more/admin-list.tsx'
import { useAdminList } from '../more/use-admin-list.ts'
import { Credentials } from './credentials.tsx'
import { DeviceConfig } from './device-config.tsx'
import { DeviceFields, toFields } from './device-fields.tsx'
import { DeviceMessages } from './device-messages.tsx'
import { type GroupJson, useRegister } from './use-devices.ts'

const REFRESH_MS = 3_000

type Details = AnswerOf<'GET /devices/{id}/details'>

/** Page of one device: its state, its messages, its configuration. */
export function DevicePage({ id }: { id: string }) {
  const { api } = useDashboard()
  const { groups, types } = useRegister()
  const list = useAdminList(async () => ({
    device: await api.call('GET /devices/{id}/details', { path: { id } }),
    groups: await groups(),
    types: await types(),
  }))
  return (
    <AdminList of={list}>
      {({ device, ...known }) => (
        <>
          <h2 dir="auto">{device.name ?? device.hardware_id}</h2>
          <State known={device} />
          <DeviceMessages id={device.hardware_id} />
          <DeviceConfig key={`${device.device_type} ${device.group_id}`} id={device.hardware_id} />
          <Place device={device} {...known} onChange={list.again} />
          <Password device={device} />
          <Removal device={device} />
        </>
      )}
    </AdminList>
  )
}

/** State of the device, read every few seconds for an installer who watches it. */
function State({ known }: { known: Details }) {
  const { api, clock, second } = useDashboard()
  const path = { id: known.hardware_id }
  const { list } = useAdminList(() => api.call('GET /devices/{id}/details', { path }), REFRESH_MS)
  const device = list ?? known
  const texts = deviceTexts()
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  const { mqtt, telemetry, dropped, last_responded_at, clock_off_s: off } = device
  const refused = Object.entries(dropped).map(([reason, count]) => `${reason} ${count}`)
  const heard = last_responded_at === undefined ? texts.neverHeard : texts.heard(formatAge(last_responded_at, nowMs))
  return (
    <section class="panel">
      <h3>{texts.state}</h3>
      <Facts
        of={[
          [texts.hardwareId, device.hardware_id],
          [texts.connected, `${device.is_online ? texts.online : texts.offline} · ${heard}`],
          [texts.address, mqtt.address],
          [texts.clock, off === null ? null : texts.clockOff(formatSpan(Math.abs(off) * 1000), off > 0)],
          [texts.usedTwice, mqtt.taken_over > 0 ? texts.takenOver(mqtt.taken_over) : null],
          [texts.records, `${formatCount(telemetry.gps.count)} / ${formatCount(telemetry.battery.count)}`],
          [texts.dropped, refused.length > 0 ? refused.join(', ') : null],
        ]}
      />
    </section>
  )
}

interface PlaceProps {
  device: Details
  types: readonly { name: string }[]
  groups: readonly GroupJson[]
  onChange: () => Promise<void>
}

/** Form for the properties that an admin sets. */
function Place({ device, types, groups, onChange }: PlaceProps) {
  const { api } = useDashboard()
  const texts = deviceTexts()
  const [draft, setDraft] = useState({
    deviceType: device.device_type,
    name: device.name ?? '',
    cart: device.cart ?? '',
    groupId: device.group_id === null ? '' : String(device.group_id),
  })
  const [isSaved, setSaved] = useState(false)
  const save = async () => {
    const path = { id: device.hardware_id }
    await api.call('PUT /devices/{id}', { path, body: toFields(draft) })
    setSaved(true)
    await onChange()
  }
  return (
    <section class="panel">
      <h3>{`${texts.name}, ${texts.cart}, ${texts.group}`}</h3>
      <SendForm action={texts.save} onSend={save}>
        <DeviceFields
          draft={draft}
          types={types}
          groups={groups}
          onChange={(changed) => {
            setSaved(false)
            setDraft(changed)
          }}
        />
        {isSaved && <p role="status">{texts.saved}</p>}
      </SendForm>
    </section>
  )
}

function Password({ device: { hardware_id: hardwareId, name, cart } }: { device: Details }) {
  const { api } = useDashboard()
  const texts = deviceTexts()
  const [made, setMade] = useState<Credential | null>(null)
  const rotate = async () => {
    const path = { id: hardwareId }
    const { mqtt } = await api.call('POST /devices/{id}/rotate-mqtt-password', { path })
    setMade({ hardwareId, name: name ?? null, cart, password: mqtt.password })
  }
  return (
    <>
      {made !== null && <Credentials key={made.password} of={[made]} />}
      <AskButton
        action={texts.rotate}
        title={texts.rotateTitle(hardwareId)}
        means={texts.rotateWhy}
        onAnswer={rotate}
      />
    </>
  )
}

function Removal({ device: { hardware_id: hardwareId } }: { device: Details }) {
  const { api, router } = useDashboard()
  const texts = deviceTexts()
  const [typed, setTyped] = useState('')
  const remove = async () => {
    await api.call('DELETE /devices/{id}', { path: { id: hardwareId } })
    // the earlier password has become invalid
    router.leave()
    router.go('more', 'devices')
  }
  return (
    <AskButton
      action={texts.remove}
      title={texts.removeTitle(hardwareId)}
      means={texts.removeWhy}
      isReady={typed.trim() === hardwareId}
      onAnswer={remove}
    >
      <TextField name={texts.removeType(hardwareId)} max={64} value={typed} onInput={setTyped} />
    </AskButton>
  )
}
