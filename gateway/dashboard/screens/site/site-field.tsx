import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

/** Attributes of a field's input, so that screen readers read the text below it too. */
export interface FieldInput {
  id: string
  'aria-describedby': string
  'aria-invalid': boolean
}

interface SiteFieldProps {
  name: string
  /** Effect of the setting, in one sentence. */
  why: string
  /** Reason why it was rejected. */
  fault: string | undefined
  children: (input: FieldInput) => ComponentChildren
}

/** Setting with its name, input, effect and error. */
export function SiteField({ name, why, fault, children }: SiteFieldProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{name}</label>
      {children({ id, 'aria-describedby': `${id}-why`, 'aria-invalid': fault !== undefined })}
      <span id={`${id}-why`} class="small">
        {why}
        {fault !== undefined && <strong class="bad">{fault}</strong>}
      </span>
    </div>
  )
}
