import { useState } from 'preact/hooks'
import { deviceTexts, typeText } from '#dashboard/texts/devices.ts'
import { formatAge } from '#dashboard/texts/format.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { VirtualList } from '#dashboard/ui/virtual-list.tsx'
import { AdminList } from '../more/admin-list.tsx'
import { useAdminList } from '../more/use-admin-list.ts'
import { toPage } from './pages.ts'
import { type DeviceJson, type GroupJson, useRegister } from './use-devices.ts'

const ROW_PX = 72
const REFRESH_MS = 10_000

export function DeviceList() {
  const { devices, groups } = useRegister()
  const texts = deviceTexts()
  const list = useAdminList(async () => ({ devices: await devices(), groups: await groups() }), REFRESH_MS)
  return (
    <div class="devices-part">
      <p>{texts.what}</p>
      <div class="row">
        <a class="button main" href={toPage('devices', 'new')}>
          {texts.add}
        </a>
        <a class="button" href={toPage('devices', 'import')}>
          {texts.importCsv}
        </a>
      </div>
      <AdminList of={list}>{(register) => <Rows {...register} />}</AdminList>
    </div>
  )
}

function Rows({ devices, groups }: { devices: readonly DeviceJson[]; groups: readonly GroupJson[] }) {
  const { clock, second } = useDashboard()
  const texts = deviceTexts()
  const [search, setSearch] = useState('')
  const wanted = search.trim().toLowerCase()
  const found = devices.filter((device) => isMeant(device, wanted))
  const nameOf = new Map(groups.map(({ group_id, name }) => [group_id, name]))
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  const factsOf = ({ cart, device_type, group_id, is_online, last_responded_at }: DeviceJson) => [
    ...(cart === null ? [] : [texts.cartOf(cart)]),
    typeText(device_type),
    ...(group_id === null ? [] : [nameOf.get(group_id) ?? '']),
    is_online
      ? texts.online
      : last_responded_at === undefined
        ? texts.neverHeard
        : texts.heard(formatAge(last_responded_at, nowMs)),
  ]
  return (
    <>
      <input
        type="search"
        class="input"
        aria-label={texts.search}
        placeholder={texts.search}
        autocomplete="off"
        value={search}
        onInput={({ currentTarget }) => setSearch(currentTarget.value)}
      />
      {found.length === 0 ? (
        <p>{texts.none}</p>
      ) : (
        <div class="devices-list">
          <VirtualList items={found} rowPx={ROW_PX} label={texts.title} keyOf={({ hardware_id }) => hardware_id}>
            {(device) => (
              <a class="device-row" href={toPage('devices', 'id', device.hardware_id)}>
                <strong class="cut" dir="auto">
                  {device.name ?? device.hardware_id}
                </strong>
                <span class="small cut" dir="auto">
                  {[...(device.name === undefined ? [] : [device.hardware_id]), ...factsOf(device)].join(' · ')}
                </span>
              </a>
            )}
          </VirtualList>
        </div>
      )}
    </>
  )
}

function isMeant({ hardware_id, name, cart, short_id }: DeviceJson, wanted: string): boolean {
  return [hardware_id, name ?? '', cart ?? '', short_id].some((text) => text.toLowerCase().includes(wanted))
}
