interface SelectFieldProps<Value extends string> {
  name: string
  value: Value
  /** Names by value, in order. */
  options: Readonly<Record<Value, string>> | ReadonlyMap<Value, string>
  isDisabled?: boolean
  onChoose: (value: Value) => void
}

/** Choice of one of several values. */
export function SelectField<Value extends string>(props: SelectFieldProps<Value>) {
  const { name, value, options, isDisabled = false, onChoose } = props
  // the keys of the record are its values
  const entries = options instanceof Map ? [...options] : (Object.entries(options) as [Value, string][])
  return (
    <label class="field">
      {name}
      <select
        value={value}
        disabled={isDisabled}
        onChange={({ currentTarget }) => {
          const chosen = entries[currentTarget.selectedIndex]
          if (chosen !== undefined) onChoose(chosen[0])
        }}
      >
        {entries.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}
