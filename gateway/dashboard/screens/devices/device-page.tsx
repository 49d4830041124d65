import { useState } from 'preact/hooks'
import type { Credential } from '#dashboard/live/credentials.ts'
import { deviceTexts } from '#dashboard/texts/devices.ts'
import { formatAge, formatSpan } from '#dashboard/texts/format.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import { refusalText } from '#dashboard/ui/refusal.ts'
import { useSending } from '#dashboard/ui/sending.ts'
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
  return (
    <section class="panel">
      <h3>{texts.state}</h3>
      <dl class="facts">
        <dt>{texts.hardwareId}</dt>
        <dd>{device.hardware_id}</dd>
        <dt>{texts.connected}</dt>
        <dd>
          {[
            device.is_online ? texts.online : texts.offline,
            last_responded_at === undefined ? texts.neverHeard : texts.heard(formatAge(last_responded_at, nowMs)),
          ].join(' · ')}
        </dd>
        {mqtt.address !== null && (
          <>
            <dt>{texts.address}</dt>
            <dd>{mqtt.address}</dd>
          </>
        )}
        {off !== null && (
          <>
            <dt>{texts.clock}</dt>
            <dd>{texts.clockOff(formatSpan(Math.abs(off) * 1000), off > 0)}</dd>
          </>
        )}
        {mqtt.taken_over > 0 && (
          <>
            <dt>{texts.usedTwice}</dt>
            <dd>{texts.takenOver(mqtt.taken_over)}</dd>
          </>
        )}
        <dt>{texts.records}</dt>
        <dd>{`${telemetry.gps.count.toLocaleString()} / ${telemetry.battery.count.toLocaleString()}`}</dd>
        {refused.length > 0 && (
          <>
            <dt>{texts.dropped}</dt>
            <dd>{refused.join(', ')}</dd>
          </>
        )}
      </dl>
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
  const { api, gate } = useDashboard()
  const texts = deviceTexts()
  const [draft, setDraft] = useState({
    deviceType: device.device_type,
    name: device.name ?? '',
    cart: device.cart ?? '',
    groupId: device.group_id === null ? '' : String(device.group_id),
  })
  const [isSaved, setSaved] = useState(false)
  const { send, fault, isSending } = useSending()
  const save = async () => {
    const path = { id: device.hardware_id }
    await gate.act(() => api.call('PUT /devices/{id}', { path, body: toFields(draft) }))
    setSaved(true)
    await onChange()
  }
  return (
    <section class="panel">
      <h3>{`${texts.name}, ${texts.cart}, ${texts.group}`}</h3>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void send(save)
        }}
      >
        <DeviceFields
          draft={draft}
          types={types}
          groups={groups}
          onChange={(changed) => {
            setSaved(false)
            setDraft(changed)
          }}
        />
        <Fault text={fault} />
        {isSaved && <p role="status">{texts.saved}</p>}
        <button type="submit" class="button main" disabled={isSending}>
          {texts.save}
        </button>
      </form>
    </section>
  )
}

function Password({ device: { hardware_id: hardwareId, name, cart } }: { device: Details }) {
  const { api } = useDashboard()
  const texts = deviceTexts()
  const [isAsked, ask] = useState(false)
  const [made, setMade] = useState<Credential | null>(null)
  const rotate = async () => {
    const path = { id: hardwareId }
    const { mqtt } = await api.call('POST /devices/{id}/rotate-mqtt-password', { path })
    setMade({ hardwareId, name: name ?? null, cart, password: mqtt.password })
    ask(false)
  }
  return (
    <>
      {made !== null && <Credentials key={made.password} of={[made]} />}
      <button type="button" class="button" onClick={() => ask(true)}>
        {texts.rotate}
      </button>
      {isAsked && (
        <Question
          title={texts.rotateTitle(hardwareId)}
          action={texts.rotate}
          isDanger
          onCancel={() => ask(false)}
          onAnswer={rotate}
          refusal={refusalText}
        >
          <p>{texts.rotateWhy}</p>
        </Question>
      )}
    </>
  )
}

function Removal({ device: { hardware_id: hardwareId } }: { device: Details }) {
  const { api, router } = useDashboard()
  const texts = deviceTexts()
  const [isAsked, ask] = useState(false)
  const [typed, setTyped] = useState('')
  const remove = async () => {
    await api.call('DELETE /devices/{id}', { path: { id: hardwareId } })
    // the earlier password has become invalid
    router.leave()
    router.go('more', 'devices')
  }
  return (
    <>
      <button type="button" class="button danger" onClick={() => ask(true)}>
        {texts.remove}
      </button>
      {isAsked && (
        <Question
          title={texts.removeTitle(hardwareId)}
          action={texts.remove}
          isDanger
          isReady={typed.trim() === hardwareId}
          onCancel={() => ask(false)}
          onAnswer={remove}
          refusal={refusalText}
        >
          <p>{texts.removeWhy}</p>
          <TextField name={texts.removeType(hardwareId)} max={64} value={typed} onInput={setTyped} />
        </Question>
      )}
    </>
  )
}
