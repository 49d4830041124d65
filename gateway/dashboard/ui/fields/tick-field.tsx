interface TickFieldProps {
  name: string
  isOn: boolean
  isDisabled?: boolean
  onChange: (isOn: boolean) => void
}

/** Check box with its name. */
export function TickField({ name, isOn, isDisabled = false, onChange }: TickFieldProps) {
  return (
    <label class="tick">
      <input
        type="checkbox"
        checked={isOn}
        disabled={isDisabled}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      {name}
    </label>
  )
}
