import { deviceTexts, typeText } from '#dashboard/texts/devices.ts'
import { SelectField } from '#dashboard/ui/fields/select-field.tsx'
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
      <SelectField
        name={texts.type}
        value={draft.deviceType}
        options={new Map(types.map(({ name }) => [name, typeText(name)]))}
        onChoose={(deviceType) => onChange({ ...draft, deviceType })}
      />
      <TextField name={texts.name} max={200} value={draft.name} onInput={(name) => onChange({ ...draft, name })} />
      <TextField
        name={texts.cart}
        hint={texts.cartHint}
        max={16}
        value={draft.cart}
        onInput={(cart) => onChange({ ...draft, cart })}
      />
      <SelectField
        name={texts.group}
        value={draft.groupId}
        options={new Map([['', texts.noGroup], ...groups.map((one) => [String(one.group_id), one.name] as const)])}
        onChoose={(groupId) => onChange({ ...draft, groupId })}
      />
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
