import './devices.css'
import { deviceTexts } from '#dashboard/texts/devices.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { DeviceList } from './device-list.tsx'
import { DevicePage } from './device-page.tsx'
import { ImportDevices } from './import-devices.tsx'
import { NewDevice } from './new-device.tsx'
import { toPage } from './pages.ts'

/** Pages of the devices that may connect: the list, one device, a new one, or an import from a file. */
export function DevicesPage() {
  const { router } = useDashboard()
  const texts = deviceTexts()
  const [, what, ...id] = (router.route.value.rest ?? '').split('/')
  if (what === undefined) return <DeviceList />
  // an address that people write has no `id`
  const hardwareId = what === 'id' ? id.join('/') : what
  return (
    <div class="devices-part">
      <a class="button" href={toPage('devices')}>
        {texts.back}
      </a>
      {what === 'new' && <NewDevice />}
      {what === 'import' && <ImportDevices />}
      {what !== 'new' && what !== 'import' && <DevicePage key={hardwareId} id={hardwareId} />}
    </div>
  )
}
