import { useState } from 'preact/hooks'
import { groupTexts, typeText } from '#dashboard/texts/devices.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { SelectField } from '#dashboard/ui/fields/select-field.tsx'
import { AdminList } from '../more/admin-list.tsx'
import { useAdminList } from '../more/use-admin-list.ts'
import { LayerForm } from './layer-form.tsx'
import { useRegister } from './use-devices.ts'

/** Settings of a group for each device type. */
export function GroupConfig({ groupId }: { groupId: number }) {
  const { api } = useDashboard()
  const { types } = useRegister()
  const texts = groupTexts()
  const [chosen, choose] = useState<string | null>(null)
  const list = useAdminList(async () => ({
    types: await types(),
    layers: (await api.call('GET /groups/{groupId}/config', { path: { groupId } })).config,
  }))
  return (
    <section class="panel">
      <h3>{texts.config}</h3>
      <AdminList of={list}>
        {({ types: kinds, layers }) => {
          const kind = kinds.find(({ name }) => name === chosen) ?? kinds[0]
          if (kind === undefined) return null
          return (
            <>
              <SelectField
                name={texts.kind}
                value={kind.name}
                options={new Map(kinds.map(({ name }) => [name, typeText(name)]))}
                onChoose={choose}
              />
              <LayerForm
                key={`${kind.name} ${JSON.stringify(layers[kind.name])}`}
                place={{ kind: 'group', groupId, deviceType: kind.name }}
                layer={layers[kind.name] ?? {}}
                schema={kind.config_schema}
                onSaved={list.again}
              />
            </>
          )
        }}
      </AdminList>
    </section>
  )
}
