import './devices.css'
import { deviceTexts } from '#dashboard/texts/devices.ts'
import { ButtonLink } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Panes } from '#dashboard/ui/lists/panes.tsx'
import { DeviceList } from './device-list.tsx'
import { DevicePage } from './device-page.tsx'
import { ImportDevices } from './import-devices.tsx'
import { NewDevice } from './new-device.tsx'

/** Devices that may connect: the list, and next to it one of them, a new one, or an import from a file. */
export function DevicesPage() {
  const { router } = useDashboard()
  const texts = deviceTexts()
  const [, what, ...id] = (router.route.value.rest ?? '').split('/')
  if (what === undefined) return <DeviceList chosen={null} />
  // an address that people write has no `id`
  const hardwareId = what === 'id' ? id.join('/') : what
  return (
    <Panes
      list={<DeviceList chosen={hardwareId} />}
      chosen={
        <div class="stack">
          <p>
            <ButtonLink text={texts.back} href={router.beside('devices')} />
          </p>
          {what === 'new' && <NewDevice />}
          {what === 'import' && <ImportDevices />}
          {what !== 'new' && what !== 'import' && <DevicePage key={hardwareId} id={hardwareId} />}
        </div>
      }
    />
  )
}
