import '#dashboard/ui/lists/table.css'
import { useState } from 'preact/hooks'
import { LAYER_NAMES, type LayerName, layerRows, toField } from '#dashboard/live/layers.ts'
import { deviceTexts } from '#dashboard/texts/devices.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import { AdminList } from '../more/admin-list.tsx'
import { useAdminList } from '../more/use-admin-list.ts'
import { LayerForm } from './layer-form.tsx'
import type { LayerPlace } from './save-layer.ts'

type Config = AnswerOf<'GET /devices/{id}/config'>

/** Three layers of the configuration side by side, with the effective value. */
export function DeviceConfig({ id }: { id: string }) {
  const { api } = useDashboard()
  const texts = deviceTexts()
  const list = useAdminList(() => api.call('GET /devices/{id}/config', { path: { id }, query: { schema: 'true' } }))
  return (
    <section class="panel">
      <h3>{texts.config}</h3>
      <p class="small">{texts.configWhat}</p>
      <AdminList of={list}>{(config) => <Layers config={config} onChange={list.again} />}</AdminList>
    </section>
  )
}

function Layers({ config, onChange }: { config: Config; onChange: () => Promise<void> }) {
  const texts = deviceTexts()
  const [open, setOpen] = useState<LayerName | null>(null)
  const { layers, schema, group_id, version, applied_version } = config
  const rows = layerRows(layers, Object.keys(schema?.properties ?? {}))
  const shown = LAYER_NAMES.filter((name) => name !== 'group' || group_id !== null)
  return (
    <>
      <table class="table layer-table">
        <thead>
          <tr>
            <th scope="col">{texts.setting}</th>
            {LAYER_NAMES.map((name) => (
              <th key={name} scope="col">
                {texts.layers[name]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, values, wins }) => (
            <tr key={key}>
              <th scope="row">{key}</th>
              {LAYER_NAMES.map((name) => (
                <td key={name}>
                  {wins === name ? (
                    <strong>{`${toField(values[name])} (${texts.holds})`}</strong>
                  ) : (
                    <span class="layer-loses">{toField(values[name])}</span>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {version !== null && <p class="small">{texts.appliedVersion(String(applied_version ?? '–'), String(version))}</p>}
      <div class="row">
        {shown.map((name) => (
          <Button
            text={texts.change[name]}
            key={name}
            aria-expanded={open === name}
            onClick={() => setOpen(open === name ? null : name)}
          />
        ))}
      </div>
      {open !== null && (
        <LayerForm
          key={open}
          place={placeOf(open, config)}
          layer={layers[open]}
          schema={schema}
          onCancel={() => setOpen(null)}
          onSaved={async () => {
            setOpen(null)
            await onChange()
          }}
        />
      )}
    </>
  )
}

function placeOf(name: LayerName, { hardware_id, device_type, group_id }: Config): LayerPlace {
  if (name === 'type') return { kind: 'type', deviceType: device_type }
  if (name === 'group' && group_id !== null) return { kind: 'group', groupId: group_id, deviceType: device_type }
  return { kind: 'device', hardwareId: hardware_id }
}
