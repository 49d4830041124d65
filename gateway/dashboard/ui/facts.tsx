import type { ComponentChildren } from 'preact'

/** Names with their values; a value of null has no line. */
export function Facts({ of }: { of: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {of.flatMap(([name, value]) =>
        value === null
          ? []
          : [
              <dt key={`${name} name`} dir="auto">
                {name}
              </dt>,
              <dd key={name} dir="auto">
                {value}
              </dd>,
            ],
      )}
    </dl>
  )
}
