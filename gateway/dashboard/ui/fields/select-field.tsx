import { useId } from 'preact/hooks'

interface SelectFieldProps<Value extends string> {
  name: string
  value: Value
  /** Names by value, in order. */
  options: Readonly<Record<Value, string>> | ReadonlyMap<Value, string>
  isDisabled?: boolean
  /** Text below the field. */
  why?: string
  onChoose: (value: Value) => void
}

/** Choice of one of several values. */
export function SelectField<Value extends string>(props: SelectFieldProps<Value>) {
  const { name, value, options, isDisabled = false, why, onChoose } = props
  const id = useId()
  // the keys of the record are its values
  const entries = options instanceof Map ? [...options] : (Object.entries(options) as [Value, string][])
  return (
    <div class="field">
      <label for={id}>{name}</label>
      <select
        id={id}
        value={value}
        disabled={isDisabled}
        aria-describedby={why === undefined ? undefined : `${id}-why`}
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
      {why !== undefined && (
        <span id={`${id}-why`} class="small">
          {why}
        </span>
      )}
    </div>
  )
}
