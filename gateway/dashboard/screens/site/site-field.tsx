import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

/** What a field's input takes, so that it is read with what is said below it. */
export interface FieldInput {
  id: string
  'aria-describedby': string
  'aria-invalid': boolean
}

interface SiteFieldProps {
  name: string
  /** What the setting does, in one sentence. */
  why: string
  /** Why it was not taken. */
  fault: string | undefined
  children: (input: FieldInput) => ComponentChildren
}

/** A setting: its name, its input, what it does, and what is wrong with it. */
export function SiteField({ name, why, fault, children }: SiteFieldProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{name}</label>
      {children({ id, 'aria-describedby': `${id}-why`, 'aria-invalid': fault !== undefined })}
      <span id={`${id}-why`} class="small">
        {why}
        {fault !== undefined && <strong class="site-fault">{fault}</strong>}
      </span>
    </div>
  )
}
