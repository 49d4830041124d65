import { deviceTexts, typeText } from '#dashboard/texts/devices.ts'
import { TextField } from '#dashboard/ui/text-field.tsx'
import type { GroupJson } from './use-devices.ts'

/** Properties of a device that an admin sets, as typed. */
export interface DeviceDraft {
  deviceType: string
  name: string
  cart: string
  /** Empty for none. */
  groupId: string
}

interface DeviceFieldsProps {
  draft: DeviceDraft
  types: readonly { name: string }[]
  groups: readonly GroupJson[]
  onChange: (draft: DeviceDraft) => void
}

export function DeviceFields({ draft, types, groups, onChange }: DeviceFieldsProps) {
  const texts = deviceTexts()
  return (
    <>
      <label class="field">
        {texts.type}
        <select
          value={draft.deviceType}
          onChange={({ currentTarget }) => onChange({ ...draft, deviceType: currentTarget.value })}
        >
          {types.map(({ name }) => (
            <option key={name} value={name}>
              {typeText(name)}
            </option>
          ))}
        </select>
      </label>
      <TextField name={texts.name} max={200} value={draft.name} onInput={(name) => onChange({ ...draft, name })} />
      <TextField
        name={texts.cart}
        hint={texts.cartHint}
        max={16}
        value={draft.cart}
        onInput={(cart) => onChange({ ...draft, cart })}
      />
      <label class="field">
        {texts.group}
        <select
          value={draft.groupId}
          onChange={({ currentTarget }) => onChange({ ...draft, groupId: currentTarget.value })}
        >
          <option value="">{texts.noGroup}</option>
          {groups.map(({ group_id, name }) => (
            <option key={group_id} value={String(group_id)}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </>
  )
}

/** Converts the draft for the API; empty fields become null. */
export function toFields({ deviceType, name, cart, groupId }: DeviceDraft) {
  return {
    device_type: deviceType,
    name: name.trim() === '' ? null : name.trim(),
    cart: cart.trim() === '' ? null : cart.trim(),
    group_id: groupId === '' ? null : Number(groupId),
  }
}
