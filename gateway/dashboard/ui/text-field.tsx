import { useId } from 'preact/hooks'

interface TextFieldProps {
  name: string
  /** Text below the field. */
  hint?: string | undefined
  max: number
  /** True for several lines. */
  isLong?: boolean
  isSecret?: boolean
  /** True for digits, on the keyboard of a phone. */
  isNumber?: boolean
  value: string
  onInput: (value: string) => void
}

/** Field for typed text in any script. */
export function TextField({ name, hint, max, isLong, isSecret, isNumber, value, onInput }: TextFieldProps) {
  const id = useId()
  const hintId = `${id}-hint`
  const props = {
    id,
    value,
    maxLength: max,
    dir: 'auto' as const,
    autocomplete: 'off',
    inputMode: isNumber === true ? ('numeric' as const) : undefined,
    'aria-describedby': hint === undefined ? undefined : hintId,
    onInput: ({ currentTarget }: { currentTarget: { value: string } }) => onInput(currentTarget.value),
  }
  const input = isSecret === true ? <input {...props} type="password" /> : <input {...props} type="text" />
  return (
    <div class="field">
      <label for={id}>{name}</label>
      {isLong === true ? <textarea {...props} rows={3} /> : input}
      {hint !== undefined && (
        <span id={hintId} class="small">
          {hint}
        </span>
      )}
    </div>
  )
}
