import { isDeviceFound, lockOf } from '#dashboard/live/fleet/device-list.ts'
import { deviceTexts, typeText } from '#dashboard/texts/devices.ts'
import { fleetTexts } from '#dashboard/texts/fleet.ts'
import { formatAge } from '#dashboard/texts/format.ts'
import { ButtonLink } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { SearchField } from '#dashboard/ui/fields/search-field.tsx'
import { type Column, Table } from '#dashboard/ui/lists/table.tsx'
import { useAddress } from '#dashboard/ui/use-address.ts'
import { AdminList } from '../more/admin-list.tsx'
import { useAdminList } from '../more/use-admin-list.ts'
import { type DeviceJson, type GroupJson, useRegister } from './use-devices.ts'

const REFRESH_MS = 10_000

export function DeviceList({ chosen }: { chosen: string | null }) {
  const { router } = useDashboard()
  const { devices, groups } = useRegister()
  const texts = deviceTexts()
  const [search, setSearch] = useAddress('search')
  const list = useAdminList(async () => ({ devices: await devices(), groups: await groups() }), REFRESH_MS)
  return (
    <div class="filling">
      <div class="row">
        <p class="grow">{texts.what}</p>
        <SearchField name={texts.search} value={search} onSearch={setSearch} />
        <ButtonLink text={texts.add} is="main" href={router.beside('devices/new')} />
        <ButtonLink text={texts.importCsv} href={router.beside('devices/import')} />
      </div>
      <AdminList of={list}>{(register) => <Rows {...register} search={search} chosen={chosen} />}</AdminList>
    </div>
  )
}

interface RowsProps {
  devices: readonly DeviceJson[]
  groups: readonly GroupJson[]
  search: string
  chosen: string | null
}

function Rows({ devices, groups, search, chosen }: RowsProps) {
  const texts = deviceTexts()
  const columns = useColumns(groups)
  const found = devices.filter((device) => isDeviceFound(device, search)).toSorted(columns[0]?.compare)
  if (found.length === 0) return <p>{texts.none}</p>
  return (
    <Table
      label={texts.title}
      items={found}
      columns={columns}
      chosen={chosen}
      keyOf={({ hardware_id }) => hardware_id}
    />
  )
}

const typeOf = ({ device_type }: DeviceJson) => typeText(device_type)

function useColumns(groups: readonly GroupJson[]): Column<DeviceJson>[] {
  const { clock, second, router } = useDashboard()
  const texts = deviceTexts()
  const { columns, locked, unlocked } = fleetTexts()
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  const groupOf = ({ group_id }: DeviceJson) => groups.find((group) => group.group_id === group_id)?.name ?? ''
  const by = (of: (device: DeviceJson) => string) => ({
    compare: (a: DeviceJson, b: DeviceJson) => of(a).localeCompare(of(b), undefined, { numeric: true }),
  })
  const lockWord = (device: DeviceJson) => ({ true: locked, false: unlocked, null: '–' })[`${lockOf(device)}`]
  const onlineWord = ({ is_online }: DeviceJson) => (is_online ? texts.online : texts.offline)
  return [
    {
      key: 'device',
      title: texts.name,
      ...by(({ name, hardware_id }) => name ?? hardware_id),
      cell: ({ name, hardware_id }) => (
        <a class="cart-name" href={router.beside(`devices/id/${hardware_id}`)}>
          <span class="words" dir="auto">
            <strong>{name ?? hardware_id}</strong>
            {name !== undefined && <span class="small">{hardware_id}</span>}
          </span>
        </a>
      ),
    },
    { key: 'cart', title: columns.cart, ...by(({ cart }) => cart ?? '\uffff'), cell: ({ cart }) => cart ?? '–' },
    { key: 'type', title: texts.type, is: 'wide', ...by(typeOf), cell: typeOf },
    { key: 'group', title: texts.group, is: 'wide', ...by(groupOf), cell: groupOf },
    { key: 'lock', title: columns.lock, is: 'wide', ...by(lockWord), cell: lockWord },
    { key: 'online', title: texts.connected, ...by(onlineWord), cell: onlineWord },
    {
      key: 'heard',
      title: columns.heard,
      is: 'wide',
      ...by((one) => one.last_responded_at ?? ''),
      cell: ({ last_responded_at: at }) => (at === undefined ? texts.neverHeard : formatAge(at, nowMs)),
    },
    {
      key: 'version',
      title: texts.version,
      is: 'wide',
      ...by(({ firmware }) => firmware ?? ''),
      cell: ({ firmware }) => firmware ?? '–',
    },
  ]
}
